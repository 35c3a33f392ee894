//go:build linux && cgo

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/test/nodefiles"
)

// What would give containers no driver, or fail them, is refused with the remedy.
func TestRefusals(t *testing.T) {
	const ubuntu = "/usr/lib/x86_64-linux-gnu"
	driver := nodefiles.Libraries(ubuntu)
	hook := "/usr/bin/nvidia-cdi-hook=" + hookText
	for _, test := range []struct {
		name  string
		files []string
		args  []string
		want  []string
	}{
		{"no driver", []string{hook}, nil, []string{"exit status 3", "no libcuda.so below /run/nvidia/driver, /home/kubernetes/bin/nvidia, /", "install NVIDIA's driver"}},
		{"no driver at the root that is named", append(driver, hook), []string{"--driver-root=/opt/driver"}, []string{"no libcuda.so below /opt/driver"}},
		{
			"the module of another release", append(driver, hook, "/proc/driver/nvidia/version=NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Mon"), nil,
			[]string{"exit status 3", "the kernel's module is of release 570.86.15 and the libraries are " + release + " below /", "restart the node"},
		},
		{"a folder that cannot be read", []string{"/usr/lib64 -> lib64", hook}, nil, []string{"exit status 1", "/usr/lib64"}},
		{"no hook program", driver, nil, []string{"exit status 1", "no nvidia-cdi-hook at /usr/bin/nvidia-cdi-hook, ", "agent.cdiHook.installTo"}},
		{"no hook program where it is named", append(driver, hook), []string{"--hook=/opt/hook"}, []string{"no nvidia-cdi-hook at /opt/hook"}},
		{"a hook program without the hooks", append(driver, "/usr/bin/nvidia-cdi-hook=ELF"), nil, []string{"/usr/bin/nvidia-cdi-hook has no hook create-symlinks, update-ldcache"}},
		{"channel that is no number", nil, []string{"--imex-channels=a"}, []string{`--imex-channels: "a" is no number`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, problem := runProgram(t, append([]string{"generate", "--host=" + tree(t, test.files...)}, test.args...)...)
			for _, want := range test.want {
				if !strings.Contains(problem, want) {
					t.Errorf("%q is not in %q (%s)", want, problem, stdout)
				}
			}
		})
	}
}

// An older program of the toolkit fails the container for a hook that it does not have, so it is not asked for those.
func TestOlderHookPrograms(t *testing.T) {
	for name, test := range map[string]struct{ file, path string }{
		"1.17":                  {"/usr/bin/nvidia-cdi-hook=ELF create-symlinks update-ldcache", "/usr/bin/nvidia-cdi-hook"},
		"nvidia-ctk":            {"/usr/bin/nvidia-ctk=ELF create-symlinks update-ldcache", "/usr/bin/nvidia-ctk"},
		"a link inside of node": {"/usr/local/bin/nvidia-cdi-hook=ELF create-symlinks update-ldcache", "/usr/bin/nvidia-cdi-hook"},
	} {
		t.Run(name, func(t *testing.T) {
			host := tree(t, test.file)
			if strings.HasPrefix(name, "a link") {
				nodefiles.Plant(t, host, "/usr/bin/nvidia-cdi-hook -> /usr/local/bin/nvidia-cdi-hook")
			}
			hook, err := openNode(host).findHook("")
			if err != nil || hook.path != test.path || !slices.Equal(hook.unknown, newerHooks) {
				t.Errorf("%+v, %v", hook, err)
			}
		})
	}
}

// kernelFiles are the files in /proc and /dev of a node with two GPUs, the second of them in MIG mode.
var kernelFiles = []string{
	"/proc/devices=Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n234 nvidia-caps\n235 nvidia-caps-imex-channels\n508 nvidia-uvm\n\nBlock devices:\n  7 loop\n",
	"/proc/driver/nvidia/params=ModifyDeviceFiles: 1\nDeviceFileMode: 438\n",
	"/proc/driver/nvidia/gpus/0000:01:00.0/information=Model: \t\t H100\nDevice Minor: \t 0\n",
	"/proc/driver/nvidia/gpus/0000:02:00.0/information=Model: \t\t H100\nDevice Minor: \t 1\n",
	"/proc/driver/nvidia/capabilities/gpu1/mig/gi2/access=DeviceFileMinor: 156\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
	"/proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci0/access=DeviceFileMinor: 157\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
	"/dev/nvidia0",
}

func TestMissingNodesAreMade(t *testing.T) {
	want := []string{
		"nvidia-caps-imex-channels/channel3 c 235 3 -rw-rw-rw-", "nvidia-caps/nvidia-cap156 c 234 156 -r--r--r--", "nvidia-caps/nvidia-cap157 c 234 157 -r--r--r--",
		"nvidia-uvm c 508 0 -rw-rw-rw-", "nvidia-uvm-tools c 508 1 -rw-rw-rw-", "nvidia1 c 195 1 -rw-rw-rw-", "nvidiactl c 195 255 -rw-rw-rw-",
	}
	for _, test := range []struct {
		name    string
		without string
		want    []string
	}{
		{"all", "", want},
		{"unified memory's module is not loaded", "nvidia-uvm", slices.Concat(want[:3], want[5:])},
		{"the administrator makes them", "ModifyDeviceFiles: 1", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var files []string
			for _, file := range kernelFiles {
				if test.without == "ModifyDeviceFiles: 1" {
					file = strings.ReplaceAll(file, test.without, "ModifyDeviceFiles: 0")
				} else if test.without != "" {
					file = strings.ReplaceAll(file, test.without+"\n", "none\n")
				}
				files = append(files, file)
			}
			host := tree(t, files...)
			var made []string
			maker := nodeMaker{proc: host + "/proc", dev: host + "/dev", mknod: func(name string, mode fs.FileMode, major, minor uint32) error {
				made = append(made, fmt.Sprintf("%s c %d %d %s", strings.TrimPrefix(name, host+"/dev/"), major, minor, mode))
				return nil
			}}
			if err := maker.make([]int{3}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(made)
			if diff := cmp.Diff(test.want, made); diff != "" {
				t.Errorf("-want +made:\n%s", diff)
			}
		})
	}
}

// A node is a character device that everybody may use, whatever the process' mask is.
func TestMakeNode(t *testing.T) {
	name := filepath.Join(t.TempDir(), "null")
	if err := makeNode(name, everybody, 1, 3); err != nil {
		t.Skipf("making device nodes needs a right: %v", err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode() != fs.ModeDevice|fs.ModeCharDevice|everybody {
		t.Errorf("%v, %v", info, err)
	}
}

func TestInstall(t *testing.T) {
	folder, program := t.TempDir(), filepath.Join(t.TempDir(), hookName)
	last := ""
	for _, content := range []string{"first", "second", "second"} {
		if err := os.WriteFile(program, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Stat(filepath.Join(folder, hookName))
		if err := install(program, folder); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(filepath.Join(folder, hookName))
		if err != nil || after.Mode().Perm() != 0o755 {
			t.Fatal(after, err)
		}
		if got, err := os.ReadFile(filepath.Join(folder, hookName)); err != nil || string(got) != content { //nolint:gosec // a test's
			t.Errorf("%q, %v", got, err)
		}
		if anew := before == nil || !os.SameFile(before, after); anew != (content != last) {
			t.Errorf("%s after %s: written anew: %v", content, last, anew)
		}
		last = content
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
	if err := install(program, filepath.Join(folder, "absent")); err == nil || !strings.Contains(err.Error(), "--to") {
		t.Error(err)
	}
}
