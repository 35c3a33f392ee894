// Package repository says where the source of Rankwright lies, for tests and tools that read manifests and recordings.
package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Root returns the root of the repository: the nearest folder above the working directory that has a go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("root of the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("root of the repository: no go.mod in the working directory or above it; run from inside the repository")
		}
		dir = parent
	}
}
