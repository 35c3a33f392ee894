#!/usr/bin/env bash
# Makes a release in dist/: assets (chart, install.yaml, bills of materials), images, and goreleaser's archives with checksums and krew's
# manifest. Usage: tools/release.sh snapshot|release|publish
#   snapshot  of what is checked out, with a version of its own, published nowhere
#   release   of the tag that is checked out, published: archives by goreleaser, which needs GITHUB_TOKEN
#   publish   pushes the images and the chart that release made (REGISTRY, ghcr.io/rankwright); docker's or helm's login is used
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:?usage: tools/release.sh snapshot|release|publish}
registry=${REGISTRY:-ghcr.io/rankwright}
chart_version=$(awk '/^version:/ {print $2}' charts/rankwright/Chart.yaml)
agents=rankwright-node-agent # namespace

release() { go run ./tools/release/command "$@"; }
helm() { .cache/bin/helm "$@"; }

# The version of a release is its tag's, and the chart's; a snapshot has the commit in it.
version() {
  case $mode in
  snapshot) echo "$chart_version-snapshot.g$(git rev-parse --short=12 HEAD)" ;;
  release)
    local tag
    tag=$(git describe --tags --exact-match) || { echo "tools/release.sh: no tag is checked out: git tag -a vX.Y.Z" >&2; exit 1; }
    [ "$tag" = "v$chart_version" ] || { echo "tools/release.sh: tag $tag and version $chart_version of charts/rankwright/Chart.yaml differ" >&2; exit 1; }
    echo "$chart_version"
    ;;
  publish) cat dist/version ;;
  *) echo "tools/release.sh: $mode: say snapshot, release or publish" >&2; exit 2 ;;
  esac
}

say() { printf '==> %s\n' "$*"; }

# render prints what `helm install` would apply, for kubectl: with the agents' namespace, and without Helm's hooks.
render() {
  cat <<END
# Rankwright $1: kubectl apply --server-side -f install.yaml
apiVersion: v1
kind: Namespace
metadata:
  name: $agents
  labels:
    pod-security.kubernetes.io/enforce: privileged
END
  helm template rankwright "$2" --namespace "$agents" --no-hooks | sed 's|app.kubernetes.io/managed-by: Helm|app.kubernetes.io/managed-by: kubectl|'
}

make_assets() {
  say "chart and install.yaml"
  mkdir -p dist/assets
  release chart -version "$version" -out dist/chart/rankwright
  helm package dist/chart/rankwright --destination dist/assets
  render "$version" "dist/assets/rankwright-$version.tgz" >dist/assets/install.yaml
}

make_images() {
  say "images"
  release images -version "$version" -out dist/images -work dist/programs
  local folder
  for folder in dist/programs/*; do
    tar --sort=name --mtime=@0 --owner=0 --group=0 -czf "dist/assets/rankwright-sbom_${version}_linux_${folder##*/}.tar.gz" -C "$folder" sbom
  done
}

modules() {
  local os
  for os in linux darwin windows; do
    GOOS=$os go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' ./cmd/kubectl-rankwright
  done
  go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' ./cmd/node-agent ./cmd/rankwright-nvml
}

# What goes with the programs of the archives.
make_licences() {
  say "licences"
  mkdir -p dist/licenses
  modules | go run ./tools/licences/command -modcache "$(go env GOMODCACHE)" -goroot "$(go env GOROOT)" -modules -texts >dist/licenses/THIRD-PARTY
}

make_archives() {
  say "archives"
  release notes -version "$version" >dist/notes.md
  local how=()
  if [ "$mode" = snapshot ]; then
    how=(--snapshot)
    # As if the tag were there, and the clone had the page's repository as its origin.
    export GORELEASER_CURRENT_TAG=v$version
    git remote get-url origin >/dev/null 2>&1 ||
      export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/rankwright/rankwright.git
  fi
  RANKWRIGHT_VERSION=$version .cache/bin/goreleaser release --clean --release-notes dist/notes.md "${how[@]}"
}

# The digests of what was pushed are what is signed; as checksums they are what provenance is attested of.
publish() {
  local how=() digest
  case $registry in localhost:* | 127.0.0.1:*) how=(--plain-http) ;; esac
  release push -to "$registry" dist/images/*.tar | tee dist/digests.txt
  digest=$(helm push "dist/assets/rankwright-$version.tgz" "oci://$registry/charts" "${how[@]}" 2>&1 | awk '$1 == "Digest:" {print $2}')
  echo "$registry/charts/rankwright@${digest:?helm push told no digest}" | tee -a dist/digests.txt
  sed -E 's/^(.*)@sha256:(.*)$/\2  \1/' dist/digests.txt >dist/digests.sums
}

version=$(version)
if [ "$mode" = publish ]; then
  publish
  exit
fi
rm -rf dist
mkdir dist
echo "$version" >dist/version
make_assets
make_licences
make_images
make_archives
say "dist/ has $version"
