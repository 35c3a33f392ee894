package host

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownerIn is the owner of a file in a tree of this machine.
func ownerIn(tree fileTree, name string) (Owner, error) {
	info, err := infoIn(tree, name)
	if err != nil {
		return Owner{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Owner{}, errors.ErrUnsupported
	}
	owner := Owner{UID: stat.Uid, GID: stat.Gid}
	if info.Mode()&fs.ModeDevice != 0 {
		owner.Major, owner.Minor = unix.Major(stat.Rdev), unix.Minor(stat.Rdev)
	}
	return owner, nil
}

func infoIn(tree fileTree, name string) (fs.FileInfo, error) {
	switch t := tree.(type) {
	case systemTree:
		return os.Stat(name)
	case kernelTree:
		file, err := t.openAt(name, unix.O_PATH)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // nothing was written
		return file.Stat()
	case rootTree:
		place, err := resolve(name, t.readPlace)
		if err != nil {
			return nil, err
		}
		return t.root.Stat(inside(place))
	default:
		return nil, errors.ErrUnsupported
	}
}
