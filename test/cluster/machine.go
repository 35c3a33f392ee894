//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// cniPlugins is where Debian has the CNI plugins.
const cniPlugins = "/usr/lib/cni"

// Packages are the Debian packages with what a node needs beside our binaries, by a file that each installs.
var Packages = map[string]string{
	"runc": "runc", "ip": "iproute2", "iptables": "iptables", "nsenter": "util-linux", "unshare": "util-linux",
	cniPlugins + "/bridge": "containernetworking-plugins",
}

// checkMachine says what the machine lacks, all at once.
func checkMachine() error {
	var errs []error
	if os.Geteuid() != 0 {
		errs = append(errs, errors.New("a cluster needs root, for namespaces and mounts"))
	}
	for file, pkg := range Packages {
		var err error
		if filepath.IsAbs(file) {
			_, err = os.Stat(file)
		} else {
			_, err = exec.LookPath(file)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: install %s", err, pkg))
		}
	}
	return errors.Join(errs...)
}
