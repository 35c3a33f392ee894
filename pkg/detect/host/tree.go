package host

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// openTree opens the tree below a folder, in the way of this system that is both safe and fast; of `/` it is the whole tree.
func openTree(folder string) liveTree {
	if folder == "/" {
		return liveTree{systemTree{}}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return liveTree{noTree{err}}
	}
	if fast, ok := openKernelTree(root); ok {
		return liveTree{fast}
	}
	return liveTree{rootTree{root}}
}

// systemTree is the whole tree of this machine: there is nothing outside of it that a link could lead to.
type systemTree struct{}

func (systemTree) info(name string) (fs.FileInfo, error) {
	if !filepath.IsAbs(name) {
		return nil, errNotAbsolute
	}
	return os.Stat(name)
}

func (systemTree) open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (systemTree) readLink(name string) (string, bool, error) {
	if !filepath.IsAbs(name) {
		return "", false, errNotAbsolute
	}
	target, err := os.Readlink(name)
	switch {
	case err == nil:
		return target, true, nil
	case errors.Is(err, syscall.EINVAL): // readlink(2) of what is no link
		return "", false, nil
	default:
		return readLinkOf(name, os.Lstat, os.Readlink)
	}
}

// rootTree is a tree below a folder. Its names are resolved here, since absolute links in it start at its root, and then
// opened by os.Root, which refuses what a link that was changed meanwhile would lead to outside.
type rootTree struct{ root *os.Root }

func (t rootTree) info(name string) (fs.FileInfo, error) {
	place, err := resolve(name, t.readPlace)
	if err != nil {
		return nil, err
	}
	return t.root.Stat(inside(place))
}

func (t rootTree) open(name string) (*os.File, error) {
	place, err := resolve(name, t.readPlace)
	if err != nil {
		return nil, err
	}
	return t.root.OpenFile(inside(place), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (t rootTree) readLink(name string) (string, bool, error) { return readBelow(name, t.readPlace) }

// readPlace reads a link whose name has no other links in it.
func (t rootTree) readPlace(place string) (string, bool, error) {
	return readLinkOf(inside(place), t.root.Lstat, t.root.Readlink)
}

func readLinkOf(name string, lstat func(string) (fs.FileInfo, error), readlink func(string) (string, error)) (string, bool, error) {
	info, err := lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", false, err
	}
	target, err := readlink(name)
	return target, true, err
}

// inside makes an absolute name in the tree relative to the tree's root.
func inside(name string) string { return "." + path.Clean("/"+name) }

// noTree is a tree that cannot be opened.
type noTree struct{ err error }

func (t noTree) info(string) (fs.FileInfo, error)      { return nil, t.err }
func (t noTree) open(string) (*os.File, error)         { return nil, t.err }
func (t noTree) readLink(string) (string, bool, error) { return "", false, t.err }

var errNotAbsolute = errors.New("name is not absolute")
