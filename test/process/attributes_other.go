//go:build !linux

package process

import "syscall"

// attributes puts the child into a group of its own. There is no parent death signal here: a parent that is killed
// leaves its children to the user.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
