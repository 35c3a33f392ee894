//go:build linux && cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/pkg/nodeagent/disk"
)

// install puts a copy of the program into a folder at once, unless the same is there already: a runtime may run it meanwhile.
func install(program, folder string) error {
	content, err := os.ReadFile(program) //nolint:gosec // the image's own
	if err != nil {
		return fmt.Errorf("program to install: %w", err)
	}
	if _, err := disk.Replace(disk.Node{}, filepath.Join(folder, filepath.Base(program)), content, 0o755); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	return nil
}
