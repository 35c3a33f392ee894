// Package install has the pinned tools that tests, the demo and releases run: where their modules are, which of them are there already,
// and how far a build has come. It needs the standard library alone, so that it runs before anything else is built.
package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tool is a program that a tool module pins.
type Tool struct {
	Name string
	// Folder is the tool module's, below tools/.
	Folder string
	// Module is the one whose version counts, Package the program's.
	Module, Package string
	// Ask are the arguments with which the program tells its version; none where only what was built here is taken.
	Ask []string
	// Version is what the tool module pins.
	Version string
}

var (
	asLong    = []string{"--version"}
	asShort   = []string{"-version"}
	asCommand = []string{"version"}
)

const (
	kubernetes = "k8s.io/kubernetes"
	containerd = "github.com/containerd/containerd/v2"
)

// catalogue are all tools.
var catalogue = []Tool{
	{Name: "kube-apiserver", Folder: "kubernetes", Module: kubernetes, Package: kubernetes + "/cmd/kube-apiserver", Ask: asLong},
	{Name: "kube-controller-manager", Folder: "kubernetes", Module: kubernetes, Package: kubernetes + "/cmd/kube-controller-manager", Ask: asLong},
	{Name: "kube-scheduler", Folder: "kubernetes", Module: kubernetes, Package: kubernetes + "/cmd/kube-scheduler", Ask: asLong},
	{Name: "kubectl", Folder: "kubernetes", Module: kubernetes, Package: kubernetes + "/cmd/kubectl", Ask: []string{"version", "--client"}},
	{Name: "kubelet", Folder: "kubernetes", Module: kubernetes, Package: kubernetes + "/cmd/kubelet", Ask: asLong},
	{Name: "kube-proxy", Folder: "kubernetes", Module: kubernetes, Package: kubernetes + "/cmd/kube-proxy", Ask: asLong},
	{Name: "etcd", Folder: "etcd", Module: "go.etcd.io/etcd/server/v3", Package: "go.etcd.io/etcd/server/v3", Ask: asLong},
	{Name: "containerd", Folder: "containerd", Module: containerd, Package: containerd + "/cmd/containerd", Ask: asLong},
	{Name: "containerd-shim-runc-v2", Folder: "containerd", Module: containerd, Package: containerd + "/cmd/containerd-shim-runc-v2"},
	{Name: "ctr", Folder: "containerd", Module: containerd, Package: containerd + "/cmd/ctr", Ask: asLong},
	{Name: "coredns", Folder: "coredns", Module: "github.com/coredns/coredns", Package: "."},
	{Name: "controller-gen", Folder: "controller-gen", Module: "sigs.k8s.io/controller-tools", Package: "sigs.k8s.io/controller-tools/cmd/controller-gen", Ask: asLong},
	{Name: "golangci-lint", Folder: "golangci-lint", Module: "github.com/golangci/golangci-lint/v2", Package: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint", Ask: asCommand},
	{Name: "goreleaser", Folder: "goreleaser", Module: "github.com/goreleaser/goreleaser/v2", Package: "github.com/goreleaser/goreleaser/v2", Ask: asLong},
	{Name: "actionlint", Folder: "actionlint", Module: "github.com/rhysd/actionlint", Package: "github.com/rhysd/actionlint/cmd/actionlint", Ask: asShort},
	{Name: "hugo", Folder: "hugo", Module: "github.com/gohugoio/hugo", Package: "github.com/gohugoio/hugo", Ask: asCommand},
	{Name: "helm", Folder: "helm", Module: "helm.sh/helm/v4", Package: "helm.sh/helm/v4/cmd/helm", Ask: asCommand},
	{Name: "nfd-worker", Folder: "nfd", Module: "sigs.k8s.io/node-feature-discovery", Package: "sigs.k8s.io/node-feature-discovery/cmd/nfd-worker"},
	{Name: "kubeconform", Folder: "kubeconform", Module: "github.com/yannh/kubeconform", Package: "github.com/yannh/kubeconform/cmd/kubeconform", Ask: []string{"-v"}},
	{Name: "prometheus", Folder: "prometheus", Module: "github.com/prometheus/prometheus", Package: "github.com/prometheus/prometheus/cmd/prometheus"},
	{Name: "lws", Folder: "lws", Module: "sigs.k8s.io/lws", Package: "sigs.k8s.io/lws/cmd"},
	{Name: "kueue", Folder: "kueue", Module: "sigs.k8s.io/kueue", Package: "sigs.k8s.io/kueue/cmd/kueue"},
	{Name: "jobset", Folder: "jobset", Module: "sigs.k8s.io/jobset", Package: "sigs.k8s.io/jobset"},
	{Name: "mpi-operator", Folder: "kubeflow", Module: "github.com/kubeflow/mpi-operator", Package: "github.com/kubeflow/mpi-operator/cmd/mpi-operator"},
	{Name: "training-operator", Folder: "kubeflow", Module: "github.com/kubeflow/training-operator", Package: "./training-operator"},
}

// Names are the names of all tools.
func Names() []string {
	names := make([]string, len(catalogue))
	for i := range catalogue {
		names[i] = catalogue[i].Name
	}
	return names
}

// Find returns tools by their names, with the versions that their modules below the repository's root pin.
func Find(root string, names []string) ([]Tool, error) {
	tools := make([]Tool, len(names))
	for i, name := range names {
		at := slices.IndexFunc(catalogue, func(t Tool) bool { return t.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("no tool named %q; known: %s", name, strings.Join(Names(), " "))
		}
		tools[i] = catalogue[at]
		file := filepath.Join(root, "tools", tools[i].Folder, "go.mod")
		text, err := os.ReadFile(file) //nolint:gosec // of the repository
		if err != nil {
			return nil, err
		}
		if tools[i].Version = required(string(text), tools[i].Module); tools[i].Version == "" {
			return nil, fmt.Errorf("%s requires no %s", file, tools[i].Module)
		}
	}
	return tools, nil
}

// required is the version of a module that a go.mod requires.
func required(text, module string) string {
	for line := range strings.Lines(text) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1]
		}
	}
	return ""
}

// Group are tools that one build makes: they share a module and a version, and so most of their packages.
type Group []Tool

// Groups splits tools into groups, in the order of the tools.
func Groups(tools []Tool) []Group {
	var groups []Group
	for _, tool := range tools {
		at := slices.IndexFunc(groups, func(g Group) bool { return g[0].Folder == tool.Folder && g[0].Version == tool.Version })
		if at < 0 {
			groups, at = append(groups, nil), len(groups)
		}
		groups[at] = append(groups[at], tool)
	}
	return groups
}

// String names the tools and their version.
func (g Group) String() string {
	names := make([]string, len(g))
	for i := range g {
		names[i] = g[i].Name
	}
	return strings.Join(names, ", ") + " " + g[0].Version
}
