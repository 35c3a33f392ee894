package images

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// glibcLibraries are glibc's own: what a driver's library, which a program loads, is linked against.
var glibcLibraries = []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2"}

// triplets are Debian's names of architectures, which are in the paths of libraries.
var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// AddGlibc adds Debian's glibc of this machine, or of its compiler for another architecture, to the files of an image that holds the
// program, which is linked against it; a program that is linked against nothing needs none.
func AddGlibc(files map[string]string, program, architecture string) error {
	loader, needed, err := linkage(program)
	if err != nil || loader == "" {
		return err
	}
	triplet := triplets[architecture]
	folders := []string{"/usr/" + triplet + "/lib"}
	if architecture == runtime.GOARCH {
		folders = []string{"/lib/" + triplet, "/usr/lib/" + triplet, filepath.Dir(loader)}
	}
	find := func(name string) (string, error) {
		for _, folder := range folders {
			if path := filepath.Join(folder, name); exists(path) {
				return path, nil
			}
		}
		return "", fmt.Errorf("%s needs %s, which is in none of %s: install Debian's libc6, or libc6-%s-cross", program, name, strings.Join(folders, ", "), architecture)
	}
	if files[loader], err = find(filepath.Base(loader)); err != nil {
		return err
	}
	for _, name := range append(needed, glibcLibraries...) {
		if name == filepath.Base(loader) {
			continue
		}
		if files["/lib/"+triplet+"/"+name], err = find(name); err != nil {
			return err
		}
	}
	return nil
}

// linkage tells the loader of a program, and the libraries that it is linked against; both are empty where it is linked statically.
func linkage(program string) (loader string, needed []string, err error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	section := file.Section(".interp")
	if section == nil {
		return "", nil, nil
	}
	text, err := section.Data()
	if err != nil {
		return "", nil, err
	}
	needed, err = file.ImportedLibraries()
	return strings.TrimRight(string(text), "\x00"), needed, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
