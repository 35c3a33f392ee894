package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// AssetsEnv names the variable that overrides the folder of the binaries.
const AssetsEnv = "RANKWRIGHT_ASSETS"

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

// FindAssets returns the folder of the control plane's binaries: that of RANKWRIGHT_ASSETS, else .cache/bin of the
// repository.
func FindAssets() (string, error) {
	if dir := os.Getenv(AssetsEnv); dir != "" {
		return dir, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".cache", "bin"), nil
}

// requireBinaries names the first binary that is missing and how to get it.
func requireBinaries(dir string, names []string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%s is missing (%w): run `make tools` in the root of the repository, or set %s to a folder that has it",
				path, err, AssetsEnv)
		}
	}
	return nil
}
