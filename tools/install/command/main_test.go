package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Lines of `go build -v` are packages, unless they are about something that failed.
func TestCount(t *testing.T) {
	var progress building
	rest := count(strings.NewReader("runtime\nexample.com/a/b\n# example.com/a/b\na.go:1:2: undefined: x\n"), &progress)
	if want := "# example.com/a/b\na.go:1:2: undefined: x\n"; rest != want || progress.done.Load() != 2 {
		t.Errorf("%d packages and %q, want 2 and %q", progress.done.Load(), rest, want)
	}
}

// A tool of the user's is used in place of a build, and what was linked before is not taken for one.
func TestInstallUsesWhatIsThere(t *testing.T) {
	root, cache, own := t.TempDir(), t.TempDir(), t.TempDir()
	module := filepath.Join(root, "tools", "helm")
	if err := os.MkdirAll(module, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("require helm.sh/helm/v4 v4.3.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(own, "helm")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 'version.BuildInfo{Version:\"v4.3.1\"}'\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("KUBEBUILDER_ASSETS", own)
	link := filepath.Join(cache, "bin", "helm")
	for range 2 {
		if err := run(t.Context(), []string{"-root", root, "-cache", cache, "helm"}); err != nil {
			t.Fatal(err)
		}
		if target, err := os.Readlink(link); target != program || err != nil {
			t.Errorf("linked to %s, %v: want %s", target, err, program)
		}
	}
	// What is linked only is looked for elsewhere, and without PATH there is nothing to build with.
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Join(cache, "bin"))
	t.Setenv("PATH", "")
	if err := run(t.Context(), []string{"-root", root, "-cache", cache, "helm"}); err == nil {
		t.Error("a link of an earlier run is taken for a tool that is there")
	}
}
