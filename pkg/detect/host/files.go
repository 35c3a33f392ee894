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
func LiveFiles(root string) Files {
	if root = filepath.Clean(root); root == "/" {
		return liveFiles{systemTree{}}
	}
	return liveFiles{openTree(root)}
}

// fileTree is a file tree of this machine. Names are absolute inside it.
type fileTree interface {
	// stat follows links, open does, too, and gives a file or folder to read from. Opening never blocks.
	stat(name string) (fs.FileMode, error)
	open(name string) (*os.File, error)
	// readLink looks at what the last step of a name is; isLink is false for all but a symbolic link.
	readLink(name string) (target string, isLink bool, err error)
}

type liveFiles struct{ fileTree }

// maxFolderSize caps the names in a folder: the largest that is read lists some thousand PCI functions or interfaces.
const maxFolderSize = 65_536

// ReadFile implements Files.
func (f liveFiles) ReadFile(name string) ([]byte, error) {
	data, err := f.readFile(name)
	return data, pathError("read", name, err)
}

func (f liveFiles) readFile(name string) ([]byte, error) {
	// A FIFO blocks its opener and a device node may act on being opened: only what is a file is opened.
	if mode, err := f.stat(name); err != nil {
		return nil, err
	} else if !mode.IsRegular() {
		return nil, errNotRegular
	}
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(file, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFileSize {
		return nil, ErrTooLarge
	}
	return data, nil
}

var errNotRegular = errors.New("not a regular file")

// ReadDir implements Files.
func (f liveFiles) ReadDir(name string) ([]string, error) {
	names, err := f.readDir(name)
	return names, pathError("readdir", name, err)
}

func (f liveFiles) readDir(name string) ([]string, error) {
	// What is no folder is not opened, for the same reasons.
	if mode, err := f.stat(name); err != nil {
		return nil, err
	} else if !mode.IsDir() {
		return nil, fs.ErrNotExist
	}
	folder, err := f.open(name)
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

// ReadLink implements Files.
func (f liveFiles) ReadLink(name string) (string, error) {
	target, isLink, err := f.readLink(name)
	if err == nil && !isLink {
		err = errNotLink
	}
	return target, pathError("readlink", name, err)
}

// RealPath implements Files.
func (f liveFiles) RealPath(name string) (string, error) {
	place, err := resolve(name, f.readLink)
	return place, pathError("realpath", name, err)
}

// Stat implements Files.
func (f liveFiles) Stat(name string) (fs.FileMode, error) {
	mode, err := f.stat(name)
	return mode, pathError("stat", name, err)
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
