#!/usr/bin/env bash
# Makes pinned tools ready in .cache/bin, from where they are already or by building them (tools/install).
# Usage: tools/install.sh [-minor] NAME...
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$root/.cache"
install=$root/.cache/install.$$
trap 'rm -f "$install"' EXIT
(cd "$root" && CGO_ENABLED=0 go build -o "$install" ./tools/install/command)
"$install" -root "$root" -cache "${RANKWRIGHT_TOOL_CACHE:-$root/.cache}" "$@"
