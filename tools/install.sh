#!/usr/bin/env bash
# Builds pinned tools from their modules into .cache/tools/NAME@VERSION and links them at .cache/bin/NAME.
# What is already there is kept, so a second run costs nothing. Usage: tools/install.sh NAME...
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${RANKWRIGHT_TOOL_CACHE:-$root/.cache}

# name, tool module folder, module whose version counts, package
catalogue() {
  cat <<'TABLE'
kube-apiserver kubernetes k8s.io/kubernetes k8s.io/kubernetes/cmd/kube-apiserver
kube-controller-manager kubernetes k8s.io/kubernetes k8s.io/kubernetes/cmd/kube-controller-manager
kube-scheduler kubernetes k8s.io/kubernetes k8s.io/kubernetes/cmd/kube-scheduler
kubectl kubernetes k8s.io/kubernetes k8s.io/kubernetes/cmd/kubectl
kubelet kubernetes k8s.io/kubernetes k8s.io/kubernetes/cmd/kubelet
kube-proxy kubernetes k8s.io/kubernetes k8s.io/kubernetes/cmd/kube-proxy
etcd etcd go.etcd.io/etcd/server/v3 go.etcd.io/etcd/server/v3
containerd containerd github.com/containerd/containerd/v2 github.com/containerd/containerd/v2/cmd/containerd
containerd-shim-runc-v2 containerd github.com/containerd/containerd/v2 github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2
ctr containerd github.com/containerd/containerd/v2 github.com/containerd/containerd/v2/cmd/ctr
coredns coredns github.com/coredns/coredns .
controller-gen controller-gen sigs.k8s.io/controller-tools sigs.k8s.io/controller-tools/cmd/controller-gen
golangci-lint golangci-lint github.com/golangci/golangci-lint/v2 github.com/golangci/golangci-lint/v2/cmd/golangci-lint
goreleaser goreleaser github.com/goreleaser/goreleaser/v2 github.com/goreleaser/goreleaser/v2
actionlint actionlint github.com/rhysd/actionlint github.com/rhysd/actionlint/cmd/actionlint
helm helm helm.sh/helm/v4 helm.sh/helm/v4/cmd/helm
nfd-worker nfd sigs.k8s.io/node-feature-discovery sigs.k8s.io/node-feature-discovery/cmd/nfd-worker
kubeconform kubeconform github.com/yannh/kubeconform github.com/yannh/kubeconform/cmd/kubeconform
lws lws sigs.k8s.io/lws sigs.k8s.io/lws/cmd
kueue kueue sigs.k8s.io/kueue sigs.k8s.io/kueue/cmd/kueue
jobset jobset sigs.k8s.io/jobset sigs.k8s.io/jobset
mpi-operator kubeflow github.com/kubeflow/mpi-operator github.com/kubeflow/mpi-operator/cmd/mpi-operator
training-operator kubeflow github.com/kubeflow/training-operator ./training-operator
TABLE
}

# The version skew checks and `kubectl version` need the version that an official build carries.
ldflags() {
  local version=$1 minor
  minor=${version#v*.} minor=${minor%%.*}
  local stamp="-X k8s.io/component-base/version"
  echo "-s -w $stamp.gitVersion=$version $stamp.gitMajor=1 $stamp.gitMinor=$minor $stamp.gitCommit=unknown"
}

install_one() {
  local name=$1 count=$2 row dir module pkg version out
  row=$(catalogue | awk -v n="$name" '$1 == n')
  [ -n "$row" ] || { echo "tools/install.sh: no tool named '$name'; known: $(catalogue | cut -d' ' -f1 | xargs)" >&2; exit 2; }
  read -r _ dir module pkg <<<"$row"
  version=$(awk -v m="$module" '$1 == m && $2 ~ /^v/ {print $2} $1 == "require" && $2 == m {print $3}' "$root/tools/$dir/go.mod" | head -n 1)
  out=$cache/tools/$name@$version
  if [ ! -x "$out" ]; then
    mkdir -p "$cache/tools"
    # shellcheck disable=SC2064
    trap "rm -f '$out.$$'" EXIT
    (cd "$root/tools/$dir" && GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 \
      "$root/tools/progress.sh" "building $name $version ($count)" \
      go build -tags no_btrfs,no_zfs,no_devmapper -trimpath -ldflags "$(ldflags "$version")" -o "$out.$$" "$pkg")
    mv "$out.$$" "$out"
    trap - EXIT
  fi
  mkdir -p "$cache/bin"
  ln -sf "../tools/$name@$version" "$cache/bin/$name"
}

[ $# -gt 0 ] || { echo "usage: tools/install.sh NAME...; known: $(catalogue | cut -d' ' -f1 | xargs)" >&2; exit 2; }
i=0
for name in "$@"; do
  i=$((i + 1))
  install_one "$name" "$i of $#"
done
