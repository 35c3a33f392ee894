package install

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/rankwright/rankwright/internal/repository"
)

// sharing are the modules that require one version of every module that they share with the product: Go compiles a package once for all that have
// it, and all that it imports, in one version, which is half of what a first build of the tools compiles. Kubernetes and etcd are as they are released.
var sharing = []string{".", "tools/containerd", "tools/controller-gen", "tools/coredns", "tools/helm", "tools/jobset", "tools/kubeflow", "tools/lws"}

func TestToolsShareVersions(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	// The folders that require each version of each module.
	versions := map[string]map[string][]string{}
	for _, folder := range sharing {
		path := filepath.Join(root, folder, "go.mod")
		text, err := os.ReadFile(path) //nolint:gosec // of the repository
		if err != nil {
			t.Fatal(err)
		}
		module, err := modfile.Parse(path, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, require := range module.Require {
			if versions[require.Mod.Path] == nil {
				versions[require.Mod.Path] = map[string][]string{}
			}
			of := versions[require.Mod.Path]
			of[require.Mod.Version] = append(of[require.Mod.Version], folder)
		}
	}
	for module, of := range versions {
		found := slices.SortedFunc(maps.Keys(of), semver.Compare)
		newest := found[len(found)-1]
		for _, older := range found[:len(found)-1] {
			t.Errorf("%q require %s %s, others %s: run `go get %s@%s` there, and `go mod tidy`", of[older], module, older, newest, module, newest)
		}
	}
}
