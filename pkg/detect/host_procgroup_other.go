//go:build !unix

package detect

import (
	"os"
	"os/exec"
)

// ownGroup does nothing where the system has no process groups.
func ownGroup(*exec.Cmd) {}

func killGroup(leader int) error {
	process, err := os.FindProcess(leader)
	if err != nil {
		return err
	}
	return process.Kill()
}
