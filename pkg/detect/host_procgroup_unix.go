//go:build unix

package detect

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group, so that its children can be killed with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
