#!/usr/bin/env bash
# Shows what the plugin tells without a cluster: this host's accelerators, and a plan on a fleet that does not exist.
# Usage: tools/try.sh PLUGIN
set -euo pipefail

plugin=${1:?usage: tools/try.sh PLUGIN}
fleet=$(mktemp -d)
trap 'rm -rf "$fleet"' EXIT

show() {
  printf '\n$ kubectl rankwright %s\n' "${*//$fleet/./fleet}"
  "$plugin" "$@"
}

echo "# The accelerators of this host"
show detect

printf '\n# A fleet that does not exist, half of it in use, and what fits on it\n'
show simulate --shape h100x8=4 --shape l40sx4=8 --occupied 50% --write "$fleet"
show plan -f "$fleet" --model Llama-3.3-70B
"$plugin" plan -f "$fleet" --model Llama-3.3-70B -o yaml >"$fleet/plan.yaml"

if [ -t 1 ]; then
  printf '\n# The fleet and the plan on a page, until Ctrl-C\n'
  show ui -f "$fleet"
fi
