#!/usr/bin/env bash
# Runs a command that may take long: says what it does, every 10 seconds that it goes on, and how long it took.
# Usage: tools/progress.sh LABEL COMMAND [ARGUMENT...]
set -euo pipefail

label=$1
shift
start=$SECONDS

report() {
  local pause=
  trap 'kill "$pause" 2>/dev/null; exit 0' TERM
  while :; do
    # A trap waits for a command in the foreground but interrupts wait, so that no sleep stays behind.
    sleep 10 &
    pause=$!
    wait "$pause"
    printf '    %s: %d s so far\n' "$label" $((SECONDS - start))
  done
}

printf '==> %s\n' "$label"
report &
reporter=$!
trap 'kill "$reporter" 2>/dev/null || true; wait "$reporter" 2>/dev/null || true' EXIT
"$@"
took=$((SECONDS - start))
[ "$took" -lt 2 ] || printf '    %s: done in %d s\n' "$label" "$took"
