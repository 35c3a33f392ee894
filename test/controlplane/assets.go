package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/internal/repository"
)

// AssetsEnv names the variable that overrides the folder of the binaries.
const AssetsEnv = "RANKWRIGHT_ASSETS"

// FindAssets returns the folder of the control plane's binaries: the one that RANKWRIGHT_ASSETS names, else .cache/bin
// of the repository.
func FindAssets() (string, error) {
	if dir := os.Getenv(AssetsEnv); dir != "" {
		return dir, nil
	}
	root, err := repository.Root()
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
