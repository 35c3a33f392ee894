#!/usr/bin/env bash
# Generates deep copies, apply configurations and CRDs from api/, what the Helm chart takes over from config/, and its dashboards. It works
# in a copy, so that what was generated from a type that is gone goes too. Usage: tools/generate.sh [--check]; --check changes nothing and fails where files differ.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
generated="config/crd api charts/rankwright/files charts/rankwright/dashboards"
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

if [ "${1:-}" = --check ]; then
  for folder in $generated; do
    diff -r "$root/$folder" "$copy/$folder" >&2 || { echo "$folder is out of date: run \`make generate\`" >&2; exit 1; }
  done
  exit 0
fi
for folder in config/crd api/v1alpha1/applyconfiguration charts/rankwright/files charts/rankwright/dashboards; do
  rm -rf "${root:?}/$folder"
  cp -R "$copy/$folder" "$root/$folder"
done
cp "$copy"/api/v1alpha1/zz_generated.* "$root/api/v1alpha1/"
