package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryFolderIsOnTheMap holds the map in CONTRIBUTING.md to the folders that there are.
func TestEveryFolderIsOnTheMap(t *testing.T) {
	root := rootOf(t)
	content, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range []string{"api", "charts", "cmd", "controllers", "examples", "internal", "pkg", "test", "tools"} {
		entries, err := os.ReadDir(filepath.Join(root, top))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if folder := top + "/" + entry.Name(); entry.IsDir() && !strings.Contains(string(content), "`"+folder+"`") {
				t.Errorf("%s has no line in the map of CONTRIBUTING.md", folder)
			}
		}
	}
}

func rootOf(t *testing.T) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// walk visits the files of the repository, without what is built or fetched into it.
func walk(t *testing.T, root string, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "dist") {
			return filepath.SkipDir
		}
		if err == nil && !entry.IsDir() {
			visit(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
