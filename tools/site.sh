#!/usr/bin/env bash
# Builds the site of docs/ into a folder, by the Hugo that tools/hugo pins. Usage: tools/site.sh FOLDER
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: tools/site.sh FOLDER" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# GitHub shows README.md as the page of a folder, and Hugo _index.md.
cp -R "$root/docs" "$work/content"
find "$work/content" -name README.md -execdir mv {} _index.md \;

"$root/.cache/bin/hugo" build --source "$root/tools/site" --contentDir "$work/content" --destination "$folder" --cacheDir "$work/cache" \
  --cleanDestinationDir --noBuildLock --panicOnWarning
(cd "$root" && go run ./tools/site "$folder")
