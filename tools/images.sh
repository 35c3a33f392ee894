#!/usr/bin/env bash
# Builds the images of the Dockerfile with docker (buildx), podman or buildah, or says what is missing.
# Usage: tools/images.sh [--print] VERSION
# Variables: IMAGE_PREFIX (rankwright/), PLATFORMS (this machine's; docker buildx, podman and buildah take several, by commas),
# BUILDER (the first that works), BUILD_ARGS (further arguments, such as --build-arg GO_IMAGE=...).
set -euo pipefail
cd "$(dirname "$0")/.."

print=
if [ "${1:-}" = --print ]; then
  print=1
  shift
fi
version=${1:?usage: tools/images.sh [--print] VERSION}
prefix=${IMAGE_PREFIX:-rankwright/}
platforms=${PLATFORMS:-}
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)

# target and image, one a line
images() {
  echo "node-agent node-agent"
  echo "node-helper node-helper"
  echo "operator operator"
}

# works says whether a builder is installed and can build here; docker's client alone cannot, nor its builder of old, which
# does not know platforms.
works() {
  case $1 in
  docker) command -v docker >/dev/null && docker buildx version >/dev/null 2>&1 && docker info >/dev/null 2>&1 ;;
  podman) command -v podman >/dev/null && podman info >/dev/null 2>&1 ;;
  buildah) command -v buildah >/dev/null && buildah info >/dev/null 2>&1 ;;
  *) return 1 ;;
  esac
}

pick() {
  local candidate
  for candidate in ${BUILDER:-docker podman buildah}; do
    if works "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  cat >&2 <<'END'
no builder of images works here. One of these is needed:
  docker   with a running daemon (docker info) and buildx (docker buildx version)
  podman   (podman info)
  buildah  (buildah info)
END
  exit 1
}

# command_for prints the builder's command before the arguments that all have in common, one word a line.
command_for() {
  case $1 in
  docker) printf '%s\n' docker buildx build ;;
  podman) printf '%s\n' podman build ;;
  buildah) printf '%s\n' buildah build ;;
  esac
}

builder=${print:+${BUILDER:-docker}}
[ -n "$builder" ] || builder=$(pick)
mapfile -t command < <(command_for "$builder")
[ -z "$platforms" ] || command+=(--platform "$platforms")
[ "$builder" != docker ] || [[ $platforms == *,* ]] || command+=(--load)
read -ra extra <<<"${BUILD_ARGS:-}"

while read -r target image; do
  # A manifest list, where there are several platforms, cannot be a plain tag of podman's and buildah's.
  tag=(--tag "$prefix$image:$version")
  [[ $builder == docker || $platforms != *,* ]] || tag=(--manifest "$prefix$image:$version")
  full=("${command[@]}" --target "$target" "${tag[@]}" --build-arg "VERSION=$version" --build-arg "REVISION=$revision"
    --build-arg "SOURCE_DATE_EPOCH=$epoch" "${extra[@]}" --file Dockerfile .)
  echo "${full[*]}"
  [ -n "$print" ] || "${full[@]}"
done < <(images)
