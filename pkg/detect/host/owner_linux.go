package host

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownerIn is the owner of a file of this machine.
func ownerIn(info fs.FileInfo) (Owner, error) {
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
