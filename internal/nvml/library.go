// Package nvml asks NVIDIA's management library what it knows of the host's GPUs. The library is loaded at run time and
// called without cgo. A library of a broken driver can hang or crash its caller, so nothing but cmd/rankwright-nvml, a
// process of its own, may import this package.
//
// Source of names, codes and layouts: NVIDIA's nvml.h, which has the same layouts on amd64 and arm64.
package nvml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ebitengine/purego"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// errNoLibrary says that no library was found.
var errNoLibrary = errors.New("no " + report.Library)

// Library is NVML, loaded.
type Library struct {
	// Name is what the library was loaded by: the loader's name, or a path.
	Name string
	// Missing are the functions that the library does not have, in order of their names.
	Missing []string

	functions
}

// load loads a library and binds its functions. An empty name means the loader's choice, else the folders of mounted
// drivers. The error wraps errNoLibrary where there is none.
func load(name string) (*Library, error) {
	names := []string{name}
	if name == "" {
		names = candidates()
	}
	var failed error
	for _, name := range names {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return bind(handle, name)
		}
		if _, statErr := os.Stat(name); statErr == nil || failed == nil {
			failed = err // what is there and cannot be loaded says more than what is not there
		}
	}
	if name == "" && len(names) == 1 {
		return nil, fmt.Errorf("%w: %w", errNoLibrary, failed)
	}
	return nil, failed
}

// candidates are the loader's name, then the libraries that are there.
func candidates() []string {
	names := []string{report.Library}
	for _, folder := range report.LibraryFolders {
		name := filepath.Join(folder, report.Library)
		if _, err := os.Stat(name); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// bind looks every function up. A library that lacks a function that every release has is not NVIDIA's.
func bind(handle uintptr, name string) (*Library, error) {
	library := &Library{Name: name}
	missing, err := library.bind(func(symbol string, into any) error {
		address, err := purego.Dlsym(handle, symbol)
		if err == nil {
			purego.RegisterFunc(into, address)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s is not NVML: %w", name, err)
	}
	slices.Sort(missing)
	library.Missing = slices.Compact(missing)
	return library, nil
}
