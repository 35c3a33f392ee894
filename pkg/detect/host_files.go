package detect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// LiveFiles is the file tree of this machine below a folder: `/`, or where a container mounted its host's.
func LiveFiles(root string) Files {
	return liveFiles{root: filepath.Clean(root)}
}

type liveFiles struct{ root string }

// ReadFile implements Files.
func (f liveFiles) ReadFile(name string) ([]byte, error) {
	data, err := f.readFile(name)
	return data, pathError("read", name, err)
}

func (f liveFiles) readFile(name string) ([]byte, error) {
	place, err := f.locate(name)
	if err != nil {
		return nil, err
	}
	// A FIFO blocks its opener and a device node may act on being opened: only what is a file is opened.
	if info, err := os.Stat(f.host(place)); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := os.OpenFile(f.host(place), os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
	place, err := f.locate(name)
	if err != nil {
		return nil, err
	}
	folder, err := os.Open(f.host(place))
	if err != nil {
		return nil, err
	}
	defer folder.Close() //nolint:errcheck // nothing was written
	names, err := folder.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// ReadLink implements Files.
func (f liveFiles) ReadLink(name string) (string, error) {
	parent, err := f.locate(filepath.Dir(name))
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	target, err := os.Readlink(f.host(filepath.Join(parent, filepath.Base(name))))
	return target, pathError("readlink", name, err)
}

// RealPath implements Files.
func (f liveFiles) RealPath(name string) (string, error) {
	place, err := f.resolve(name)
	return place, pathError("realpath", name, err)
}

// Stat implements Files.
func (f liveFiles) Stat(name string) (fs.FileMode, error) {
	place, err := f.locate(name)
	if err != nil {
		return 0, pathError("stat", name, err)
	}
	info, err := os.Stat(f.host(place))
	if err != nil {
		return 0, pathError("stat", name, err)
	}
	return info.Mode(), nil
}

// locate returns a name that the system may be asked for. It follows links as resolve does where the tree is the whole
// one, so there the name itself will do, at a third of the time.
func (f liveFiles) locate(name string) (string, error) {
	if f.root == "/" && filepath.IsAbs(name) {
		return name, nil
	}
	return f.resolve(name)
}

func (f liveFiles) resolve(name string) (string, error) {
	return resolve(name, func(name string) (string, bool, error) {
		info, err := os.Lstat(f.host(name))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return "", false, err
		}
		target, err := os.Readlink(f.host(name))
		return target, true, err
	})
}

// host turns a name inside the tree into one of this machine.
func (f liveFiles) host(name string) string {
	if f.root == "/" {
		return name
	}
	return filepath.Join(f.root, name)
}

// LiveHost is this machine, or the one whose file tree is mounted at root. Tools run only where exec is set and root is
// `/`: those of another tree need not work outside it.
func LiveHost(root string, exec bool) (*Host, error) {
	if info, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("root of the host's files: %w: mount the host's file tree there or name another folder", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("root of the host's files: %s is not a folder", root)
	}
	host := &Host{Files: LiveFiles(root)}
	if exec && filepath.Clean(root) == "/" {
		host.Commands = LiveCommands()
	}
	return host, nil
}
