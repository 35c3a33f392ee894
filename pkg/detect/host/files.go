package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// LiveFiles is the file tree of this machine below a folder: `/`, or where a container mounted its host's. No link leads
// out of it, not even one that is changed while it is followed.
func LiveFiles(root string) Files { return treeFiles{openTree(filepath.Clean(root))} }

// fileTree is a file tree, of this machine or of a recording. Names are absolute inside it.
type fileTree interface {
	// stat, read and names follow links.
	stat(name string) (fs.FileMode, error)
	read(name string) ([]byte, error)
	names(folder string) ([]string, error)
	// readLink looks at what the last step of a name is; isLink is false for all but a symbolic link.
	readLink(name string) (target string, isLink bool, err error)
	owner(name string) (Owner, error)
}

// treeFiles are the Files of a tree.
type treeFiles struct{ fileTree }

// ReadFile implements Files.
func (f treeFiles) ReadFile(name string) ([]byte, error) {
	data, err := f.read(name)
	return data, pathError("read", name, err)
}

// ReadDir implements Files.
func (f treeFiles) ReadDir(name string) ([]string, error) {
	names, err := f.names(name)
	return names, pathError("readdir", name, err)
}

// ReadLink implements Files.
func (f treeFiles) ReadLink(name string) (string, error) {
	target, isLink, err := f.readLink(name)
	if err == nil && !isLink {
		err = errNotLink
	}
	return target, pathError("readlink", name, err)
}

// errNotLink says what Linux's EINVAL means for readlink(2).
var errNotLink = errors.New("invalid argument")

// RealPath implements Files.
func (f treeFiles) RealPath(name string) (string, error) {
	place, err := resolve(name, f.readLink)
	return place, pathError("realpath", name, err)
}

// Stat implements Files.
func (f treeFiles) Stat(name string) (fs.FileMode, error) {
	mode, err := f.stat(name)
	return mode, pathError("stat", name, err)
}

// Owner implements owners.
func (f treeFiles) Owner(name string) (Owner, error) {
	owner, err := f.owner(name)
	return owner, pathError("owner of", name, err)
}

// liveTree is a file tree of this machine.
type liveTree struct{ systemCalls }

// systemCalls look at a file tree of this machine.
type systemCalls interface {
	// info and open follow links. Opening gives a file or folder to read from and never blocks.
	info(name string) (fs.FileInfo, error)
	open(name string) (*os.File, error)
	readLink(name string) (target string, isLink bool, err error)
}

// maxFolderSize caps the names in a folder: the largest that is read lists some thousand PCI functions or interfaces.
const maxFolderSize = 65_536

func (t liveTree) stat(name string) (fs.FileMode, error) {
	info, err := t.info(name)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (t liveTree) owner(name string) (Owner, error) {
	info, err := t.info(name)
	if err != nil {
		return Owner{}, err
	}
	return ownerIn(info)
}

func (t liveTree) read(name string) ([]byte, error) {
	// A FIFO blocks its opener and a device node may act on being opened: only what is a file is opened.
	if mode, err := t.stat(name); err != nil {
		return nil, err
	} else if !mode.IsRegular() {
		return nil, errNotRegular
	}
	file, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err == nil && len(data) > maxFileSize {
		return nil, ErrTooLarge
	}
	return data, err
}

var errNotRegular = errors.New("not a regular file")

func (t liveTree) names(name string) ([]string, error) {
	// What is no folder is not opened, for the same reasons.
	if mode, err := t.stat(name); err != nil {
		return nil, err
	} else if !mode.IsDir() {
		return nil, fs.ErrNotExist
	}
	folder, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // nothing was written
	return namesIn(folder, maxFolderSize)
}

// namesIn lists a folder, sorted; more names than the limit are an error.
func namesIn(folder *os.File, limit int) ([]string, error) {
	names, err := folder.Readdirnames(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > limit {
		return nil, ErrTooLarge
	}
	slices.Sort(names)
	return names, nil
}

// LiveHost returns this machine, or the one whose file tree is mounted at root. Where files are read and where tools run are
// two things: commands may run here, in another container or, where commands is nil, nowhere.
func LiveHost(root string, commands Commands) (*Host, error) {
	if info, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("root of the host's files: %w: mount the host's file tree there or name another folder", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("root of the host's files: %s is not a folder", root)
	}
	return &Host{Files: LiveFiles(root), Commands: commands}, nil
}
