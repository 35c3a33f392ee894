package images

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A program that is linked against glibc gets its loader and libraries, at the paths where the loader looks; one that is not, nothing.
func TestAddGlibc(t *testing.T) {
	const program = "/bin/sh"
	if _, err := os.Stat("/lib/" + triplets[runtime.GOARCH] + "/libc.so.6"); err != nil {
		t.Skipf("this machine has no glibc where Debian has it: %v", err)
	}
	files := map[string]string{}
	if err := AddGlibc(files, program, runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(files))
	for _, want := range append([]string{"ld-linux"}, glibcLibraries...) {
		if !slices.ContainsFunc(names, func(path string) bool { return strings.HasPrefix(filepath.Base(path), want) }) {
			t.Errorf("no %s among %v", want, names)
		}
	}
	for path, source := range files {
		if !strings.HasPrefix(path, "/lib") || !exists(source) {
			t.Errorf("%s is to be %s", path, source)
		}
	}
	static := filepath.Join(t.TempDir(), "static")
	programs := Programs{Root: "../..", Out: filepath.Dir(static)}
	if _, err := programs.Build(t.Context(), "static", "./test/cluster/pause"); err != nil {
		t.Fatal(err)
	}
	none := map[string]string{}
	if err := AddGlibc(none, static, runtime.GOARCH); err != nil || len(none) > 0 {
		t.Errorf("a static program gets %v, %v", none, err)
	}
}
