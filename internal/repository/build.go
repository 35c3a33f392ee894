package repository

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds a program of the repository into a file, with the flags of `make build`: builds with the same flags share what
// the Go command has compiled before. The package is a folder from the root (`cmd/operator`). An error has what the
// compiler said.
func Build(ctx context.Context, output, folder string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	if output, err = filepath.Abs(output); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", output, "./"+folder) //nolint:gosec // a test's own
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./%s: %w\n%s", folder, err, said)
	}
	return nil
}
