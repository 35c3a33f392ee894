//go:build linux && cgo

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// install puts a copy of the program into a folder at once, unless the same is there already: a runtime may run it meanwhile.
func install(program, folder string) error {
	content, err := os.ReadFile(program) //nolint:gosec // the image's own
	if err != nil {
		return fmt.Errorf("program to install: %w", err)
	}
	target := filepath.Join(folder, filepath.Base(program))
	if old, err := os.ReadFile(target); err == nil && bytes.Equal(old, content) { //nolint:gosec // an earlier copy of the program
		return nil
	}
	file, err := os.CreateTemp(folder, ".unfinished-*")
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(0o755), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), target)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("install %s: %w", target, err), os.Remove(file.Name()))
	}
	return nil
}
