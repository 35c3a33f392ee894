package main

import (
	"fmt"
	"path"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// addClassDevice adds a device of a class below the folder of its hardware, with its node where it has one and its files.
func addClassDevice(h *compose.Host, folder, class, name, node string, files map[string]string) {
	own := path.Join(folder, class, name)
	h.Member(class, own)
	h.Files(own, files)
	if node != "" {
		h.File(own+"/uevent", "MAJOR=511\nMINOR=0\nDEVNAME="+node)
		h.Device("/dev/" + node)
	}
}

// addAccel adds a member of the class accel of the hardware at a folder, with its node.
func addAccel(h *compose.Host, folder string, number int) {
	name := fmt.Sprint("accel", number)
	addClassDevice(h, folder, "accel", name, "accel/"+name, nil)
}
