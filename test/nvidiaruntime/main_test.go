package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestBundleOf(t *testing.T) {
	for line, want := range map[string]string{
		"--root /run/runc --log /l create --bundle /run/b --pid-file /run/b/pid id": "/run/b",
		"--root /run/runc create --bundle=/run/b id":                                "/run/b",
		"create -b /run/b id":                "/run/b",
		"--root /run/runc delete --force id": "",
		"features":                           "",
	} {
		if got := bundleOf(strings.Fields(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// A container that asks for the driver gets it, and no other container gets any part of it.
func TestPrepare(t *testing.T) {
	const driver = "\nmount /run/nvidia-driver\nlibnvidia-ml.so.1"
	const gpus = "/dev/nvidiactl /dev/nvidia-uvm /dev/nvidia0 /dev/nvidia1, 4 allowed"
	for name, step := range map[string]struct {
		env  []string
		want string
	}{
		"asks for nothing": {env: []string{"PATH=/bin"}, want: ", 0 allowed"},
		"void":             {env: []string{"NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_DRIVER_CAPABILITIES=utility"}, want: ", 0 allowed"},
		"no library":       {env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=video"}, want: gpus},
		"all":              {env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"}, want: gpus + driver},
	} {
		t.Run(name, func(t *testing.T) {
			root, bundle := t.TempDir(), t.TempDir()
			for _, file := range []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1", hostFolder + libraryFolder + "/" + library} {
				write(t, filepath.Join(root, file), nil)
			}
			before, err := json.Marshal(specs.Spec{
				Process: &specs.Process{Env: step.env}, Root: &specs.Root{Path: "rootfs"}, Linux: &specs.Linux{Resources: &specs.LinuxResources{}},
			})
			if err != nil {
				t.Fatal(err)
			}
			config := filepath.Join(bundle, "config.json")
			write(t, config, before)
			if err := prepare(bundle, root); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(step.want, describe(t, bundle)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			after, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			if asks := step.want != ", 0 allowed"; asks == bytes.Equal(before, after) {
				t.Errorf("asks %t, and the container is\n%s", asks, after)
			}
		})
	}
}

// A node without a driver starts no container that asks for one, as NVIDIA's runtime does not.
func TestPrepareWithoutDriver(t *testing.T) {
	bundle := t.TempDir()
	write(t, filepath.Join(bundle, "config.json"), []byte(`{"process":{"env":["NVIDIA_VISIBLE_DEVICES=all"]},"linux":{"resources":{}}}`))
	if err := prepare(bundle, t.TempDir()); err == nil || !strings.Contains(err.Error(), "/dev/nvidiactl") {
		t.Errorf("%v, want one that names /dev/nvidiactl", err)
	}
}

// describe tells what a container gets: nodes, how many may be opened, mounts, links in its file tree.
func describe(t *testing.T, bundle string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec specs.Spec
	if err := json.Unmarshal(content, &spec); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range spec.Linux.Devices {
		paths = append(paths, spec.Linux.Devices[i].Path)
	}
	allowed := 0
	for _, rule := range spec.Linux.Resources.Devices {
		if rule.Allow && rule.Access == "rw" {
			allowed++
		}
	}
	told := strings.Join(paths, " ") + ", " + string(rune('0'+allowed)) + " allowed"
	for _, mount := range spec.Mounts {
		told += "\nmount " + mount.Destination
	}
	if target, err := os.Readlink(filepath.Join(bundle, "rootfs", libraryFolder, library)); err == nil {
		told += "\n" + filepath.Base(target)
	}
	return told
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
