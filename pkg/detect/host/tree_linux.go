package host

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// kernelTree is a tree below a folder that the kernel itself takes for the root of every name: openat2(2), Linux 5.6. One
// call resolves a name, and no link can be changed in between.
type kernelTree struct {
	root   *os.Root // kept open for folder
	folder *os.File
}

// openKernelTree says whether this kernel, and the container's seccomp profile, allow it.
func openKernelTree(root *os.Root) (systemCalls, bool) {
	folder, err := root.Open(".")
	if err != nil {
		return nil, false
	}
	t := kernelTree{root, folder}
	if _, err := t.info("/"); err != nil {
		_ = folder.Close()
		return nil, false
	}
	return t, true
}

// raceRetries bounds the attempts while something is renamed on the way, which openat2 refuses to follow (EAGAIN).
const raceRetries = 32

func (t kernelTree) openAt(name string, flags uint64) (*os.File, error) {
	if !path.IsAbs(name) {
		return nil, errNotAbsolute
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	var err error
	for range raceRetries {
		var fd int
		if fd, err = unix.Openat2(int(t.folder.Fd()), name, &how); err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

func (t kernelTree) info(name string) (fs.FileInfo, error) {
	file, err := t.openAt(name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	return file.Stat()
}

func (t kernelTree) open(name string) (*os.File, error) {
	return t.openAt(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
}

func (t kernelTree) readLink(name string) (string, bool, error) {
	file, err := t.openAt(name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", false, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	info, err := file.Stat()
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", false, err
	}
	target := make([]byte, maxNameLength)
	n, err := unix.Readlinkat(int(file.Fd()), "", target)
	if err != nil {
		return "", false, err
	}
	return string(target[:n]), true, nil
}
