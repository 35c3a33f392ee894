//go:build unix

package host

import (
	"os/exec"
	"syscall"
)

// confine makes the command the leader of a process group, so that its children can be killed with it, and has it run with
// root as its root folder.
func confine(cmd *exec.Cmd, root string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if root != "/" { // changing it needs a right, even to the one that it is
		cmd.SysProcAttr.Chroot = root
	}
}

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
