#!/usr/bin/env bash
# Generates deep copies, apply configurations and CRDs from api/, what the Helm chart takes over from config/, its dashboards, the files of the
# plugin's page, and the pages of docs/reference that are made from the kinds, the values, the commands and the flags. It works in a copy, so that what was generated
# from a type that is gone goes too. Usage: tools/generate.sh [--check]; --check changes nothing and fails where files differ.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
generated="config/crd api charts/rankwright/files charts/rankwright/dashboards internal/cli/page/assets docs/reference/api docs/reference/cli.md docs/reference/node-agent.md docs/reference/operator.md docs/reference/values.md"
# What the chart installs of config/, for its own namespaces and accounts.
charted="rbac admission cleanup/cleanup.yaml claims/placement.yaml dra/rights.yaml dra/device_class.yaml"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

mkdir -p "$copy/config/crd"
cp "$root/go.mod" "$root/go.sum" "$copy/"
cp -R "$root/api" "$copy/api"
rm -rf "$copy/api/v1alpha1/applyconfiguration" "$copy"/api/v1alpha1/zz_generated.*

(cd "$copy" && "$root/.cache/bin/controller-gen" object crd applyconfiguration paths=./api/... output:crd:dir=config/crd)

mkdir -p "$copy"/charts/rankwright/files/{cleanup,claims,dra}
cp -R "$copy/config/crd" "$copy/charts/rankwright/files/crd"
for path in $charted; do
  cp -R "$root/config/$path" "$copy/charts/rankwright/files/$path"
done

mkdir "$copy/charts/rankwright/dashboards"
(cd "$root/tools/dashboards" && GOFLAGS=-mod=readonly GOWORK=off go run . "$copy/charts/rankwright/dashboards")

mkdir -p "$copy/internal/cli/page/assets"
(cd "$root/tools/page" && GOFLAGS=-mod=readonly GOWORK=off go run . "$root/internal/cli/page/web" "$copy/internal/cli/page/assets")

mkdir -p "$copy/docs/reference"
(cd "$root" && go run ./tools/reference "$copy/config/crd" charts/rankwright/values.yaml "$copy/docs/reference")

if [ "${1:-}" = --check ]; then
  for folder in $generated; do
    diff -r "$root/$folder" "$copy/$folder" >&2 || { echo "$folder is out of date: run \`make generate\`" >&2; exit 1; }
  done
  exit 0
fi
for folder in ${generated/ api / api/v1alpha1/applyconfiguration }; do
  rm -rf "${root:?}/$folder"
  cp -R "$copy/$folder" "$root/$folder"
done
cp "$copy"/api/v1alpha1/zz_generated.* "$root/api/v1alpha1/"
