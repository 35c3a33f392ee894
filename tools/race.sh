#!/usr/bin/env bash
# Runs tests with the race detector. A package is run once more where the detector itself failed and neither a test nor a race was reported: two
# timers of a synctest bubble that fire at once break its state (golang/go#78156), which ends in a check of its own or in a fault within the bubble.
# Everything else counts.
# Usage: tools/race.sh PACKAGE... (GO is the go command)
set -uo pipefail

go=${GO:-go}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$go" test -race -vet=off -timeout 40m "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" -ne 0 ] || exit 0

# The lines of a package stand before that of its result. A FAIL without a package is of the whole command or of the test binary.
crashed=$(awk '
  /^ThreadSanitizer: CHECK failed/ || /^goroutine 0 .*synctest bubble/ {own = 1}
  /^ *--- FAIL/ || /^panic:/ || /^fatal error:/ || /^WARNING: DATA RACE/ {test = 1}
  /^ok[ \t]/ || /^\?[ \t]/ {own = test = 0}
  $1 == "FAIL" && NF > 1 {print own && !test ? $2 : "-"; own = test = 0}
' "$log")
if [ -z "$crashed" ] || grep -qx -- - <<<"$crashed"; then
  exit "$status"
fi
echo "==> once more, since the race detector failed and no test:" $crashed
# shellcheck disable=SC2086
exec "$go" test -count=1 -race -vet=off -timeout 40m $crashed
