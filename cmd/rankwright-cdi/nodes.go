//go:build linux && cgo

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// nodeMaker makes the nodes of NVIDIA's drivers, as nvidia-modprobe does for the first program that root starts.
type nodeMaker struct {
	// proc and dev are the folders of the kernel's files and of device nodes.
	proc, dev string
	mknod     func(name string, mode fs.FileMode, major, minor uint32) error
}

// wantedNode is a node below /dev of the driver that the kernel lists by one of the names.
type wantedNode struct {
	name    string
	drivers []string
	minor   uint32
	mode    fs.FileMode
}

const (
	everybody = 0o666
	// controlMinor is the minor number of nvidiactl (NV_CONTROL_DEVICE_MINOR of NVIDIA's open kernel modules).
	controlMinor = 255
)

// gpuDrivers are the names of the GPUs' own driver, of releases from 450 on and before.
var gpuDrivers = []string{"nvidia", "nvidia-frontend"}

// make makes what is missing. What the kernel has no driver for is left out: modules are the node's to load.
func (m nodeMaker) make(channels []int) error {
	// The administrator keeps programs from making nodes (NVreg_ModifyDeviceFiles=0).
	if valueOf(m.proc+"/driver/nvidia/params", "ModifyDeviceFiles") == "0" {
		return nil
	}
	majors, err := m.majors()
	if err != nil {
		return err
	}
	wanted := []wantedNode{
		{"nvidiactl", gpuDrivers, controlMinor, everybody},
		{"nvidia-uvm", []string{"nvidia-uvm"}, 0, everybody},
		{"nvidia-uvm-tools", []string{"nvidia-uvm"}, 1, everybody},
	}
	wanted = append(wanted, m.listed()...)
	for _, channel := range channels {
		wanted = append(wanted, wantedNode{fmt.Sprint("nvidia-caps-imex-channels/channel", channel), []string{"nvidia-caps-imex-channels"}, uint32(channel), everybody}) //nolint:gosec // at most 16 bits
	}
	var errs []error
	for _, node := range wanted {
		errs = append(errs, m.one(node, majors))
	}
	return errors.Join(errs...)
}

func (m nodeMaker) one(node wantedNode, majors map[string]uint32) error {
	target := filepath.Join(m.dev, node.name)
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	for _, driver := range node.drivers {
		major, loaded := majors[driver]
		if !loaded {
			continue
		}
		err := os.MkdirAll(filepath.Dir(target), 0o755) //nolint:gosec // as udev makes it
		if err == nil {
			err = m.mknod(target, node.mode, major, node.minor)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s: %w", target, err)
		}
		return nil
	}
	return nil
}

// majors are the character devices of /proc/devices, by name.
func (m nodeMaker) majors() (map[string]uint32, error) {
	text, err := os.ReadFile(filepath.Join(m.proc, "devices"))
	if err != nil {
		return nil, err
	}
	majors := map[string]uint32{}
	characters, _, _ := strings.Cut(string(text), "Block devices:")
	for line := range strings.Lines(characters) {
		number, name, found := strings.Cut(strings.TrimSpace(line), " ")
		if major, err := strconv.ParseUint(number, 10, 32); found && err == nil {
			majors[strings.TrimSpace(name)] = uint32(major)
		}
	}
	return majors, nil
}

// listings are what the driver says of the nodes of GPUs, and of MIG's instances: who may open one of these may use it. In the files
// of a pattern, keys have the minor number and the mode; without a key for the mode, the node is for everybody.
var listings = []struct {
	pattern, minor, mode, name string
	drivers                    []string
}{
	{"gpus/*/information", "Device Minor", "", "nvidia", gpuDrivers},
	{"capabilities/gpu*/mig/gi*/access", "DeviceFileMinor", "DeviceFileMode", "nvidia-caps/nvidia-cap", []string{"nvidia-caps"}},
	{"capabilities/gpu*/mig/gi*/ci*/access", "DeviceFileMinor", "DeviceFileMode", "nvidia-caps/nvidia-cap", []string{"nvidia-caps"}},
}

// listed are the nodes that the driver lists and lets others make.
func (m nodeMaker) listed() []wantedNode {
	var nodes []wantedNode
	for _, l := range listings {
		files, _ := filepath.Glob(m.proc + "/driver/nvidia/" + l.pattern) // the patterns are well-formed
		for _, file := range files {
			minor, err := strconv.ParseUint(valueOf(file, l.minor), 10, 16)
			mode := uint64(everybody)
			if err == nil && l.mode != "" {
				mode, err = strconv.ParseUint(valueOf(file, l.mode), 10, 16)
			}
			if err == nil && valueOf(file, "DeviceFileModify") != "0" {
				nodes = append(nodes, wantedNode{fmt.Sprint(l.name, minor), l.drivers, uint32(minor), fs.FileMode(mode).Perm()})
			}
		}
	}
	return nodes
}

// valueOf is what a file of lines `key: value` has; empty where it has none.
func valueOf(file, key string) string {
	text, err := os.ReadFile(file) //nolint:gosec // the kernel's own
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// makeNode makes a character device, with the mode that it has whatever the process' mask is.
func makeNode(name string, mode fs.FileMode, major, minor uint32) error {
	if err := unix.Mknod(name, unix.S_IFCHR|uint32(mode), int(unix.Mkdev(major, minor))); err != nil { //nolint:gosec // 64 bits
		return &fs.PathError{Op: "mknod", Path: name, Err: err}
	}
	return os.Chmod(name, mode)
}
