package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRootIsTheNearestFolderWithAGoMod(t *testing.T) {
	outer, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(outer, "module")
	deep := filepath.Join(inner, "pkg", "deep")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	if root, err := Root(); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("%q, %v without a go.mod, want an error that names it", root, err)
	}
	for _, want := range []string{outer, inner} {
		if err := os.WriteFile(filepath.Join(want, "go.mod"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if root, err := Root(); err != nil || root != want {
			t.Errorf("%q, %v, want %q", root, err, want)
		}
	}
}
