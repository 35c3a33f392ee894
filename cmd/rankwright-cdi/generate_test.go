//go:build linux && cgo

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/test/nodefiles"
)

// TestMain is the program itself where a test runs it: a library that was loaded stays loaded for as long as its process lives.
func TestMain(m *testing.M) {
	if os.Getenv("RANKWRIGHT_CDI") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// runProgram returns what the program printed, and why it failed: the exit status and what it said.
func runProgram(t *testing.T, args ...string) (stdout []byte, problem string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // this test
	command.Env = []string{"RANKWRIGHT_CDI=1", "PATH=/usr/bin:/bin"}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		return nil, err.Error() + ": " + stderr.String()
	}
	return stdout, ""
}

// What a container needs, on the nodes that there are, written down by hand from the file lists of NVIDIA's packages
// (libnvidia-compute, nvidia-utils, nvidia-compute-utils, nvidia-firmware of 580) and from where GKE's installer and the GPU
// operator's driver container put them. What else is in the same folders is not for containers.
func TestWhatContainersNeed(t *testing.T) {
	others := []string{"libstdc++.so.6", "libcuda.so.570.86.15", "libnvidia-container.so.1"}
	const ubuntu, gke = "/usr/lib/x86_64-linux-gnu", "/home/kubernetes/bin/nvidia"
	for _, test := range []struct {
		name  string
		files [][]string
		// root is where the driver is on the node; library and programs are its folders in the container.
		root, library, programs string
		// more are further files that a container has, by their paths in it.
		more           []string
		hook, ldconfig string
		hooks          [][]string
	}{
		{
			name: "a node's own driver",
			files: [][]string{
				nodefiles.Libraries(ubuntu), nodefiles.Below(ubuntu, others...), nodefiles.Below("/usr/bin", "nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "bash", "nvidia-cdi-hook="+hookText),
				nodefiles.Below("/lib/firmware/nvidia/"+release, "gsp_ga10x.bin", "gsp_tu10x.bin"),
				{"/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket", "/sbin/ldconfig.real", "/sbin/ldconfig"},
				{"/proc/driver/nvidia/version=NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + release + "  Release Build\nGCC version: 13.3.0\n"},
			},
			root: "", library: ubuntu, programs: "/usr/bin",
			more: []string{
				"/lib/firmware/nvidia/" + release + "/gsp_ga10x.bin", "/lib/firmware/nvidia/" + release + "/gsp_tu10x.bin",
				"/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket",
			},
			hook: "/usr/bin/nvidia-cdi-hook", ldconfig: "/sbin/ldconfig.real",
		},
		{
			name: "a driver container of the GPU operator, over what a node had before",
			files: [][]string{
				nodefiles.Libraries("/run/nvidia/driver" + ubuntu), nodefiles.Below("/run/nvidia/driver/usr/bin", "nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
				nodefiles.Below("/run/nvidia/driver/lib/firmware/nvidia/"+release, "gsp_ga10x.bin"),
				{"/run/nvidia/driver/run/nvidia-persistenced/socket"},
				nodefiles.Below(ubuntu, "libcuda.so.535.274.02"),
				{"/usr/local/nvidia/toolkit/nvidia-cdi-hook=#!/bin/sh\nexec nvidia-cdi-hook.real\n", "/usr/local/nvidia/toolkit/nvidia-cdi-hook.real=" + hookText, "/sbin/ldconfig"},
				{"/proc/driver/nvidia/version=NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + release + "  Tue Oct 21 2025\n"},
			},
			root: "/run/nvidia/driver", library: ubuntu, programs: "/usr/bin",
			more: []string{"/lib/firmware/nvidia/" + release + "/gsp_ga10x.bin", "/run/nvidia-persistenced/socket"},
			hook: "/usr/local/nvidia/toolkit/nvidia-cdi-hook", ldconfig: "/sbin/ldconfig",
		},
		{
			name: "GKE on Container-Optimized OS, with a hook program that was installed",
			files: [][]string{
				nodefiles.Libraries(gke + "/lib64"), nodefiles.Below(gke+"/bin", "nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
				{"/home/kubernetes/bin/rankwright/nvidia-cdi-hook=" + hookText, "/sbin/ldconfig"},
			},
			root: gke, library: "/lib64", programs: "/bin",
			hook: "/home/kubernetes/bin/rankwright/nvidia-cdi-hook", ldconfig: "/sbin/ldconfig",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := tree(t, slices.Concat(test.files...)...)
			args := []string{"generate", "--host=" + host}
			if strings.HasPrefix(test.name, "GKE") {
				args = append(args, "--hook="+test.hook)
			}
			stdout, problem := runProgram(t, args...)
			if problem != "" {
				t.Fatal(problem)
			}
			var spec specs.Spec
			if err := json.Unmarshal(stdout, &spec); err != nil {
				t.Fatal(err)
			}
			needed := slices.Concat(
				nodefiles.Below(test.library, "libcuda.so."+release, "libcudadebugger.so."+release, "libnvcuvid.so."+release, "libnvidia-encode.so."+release,
					"libnvidia-ml.so."+release, "libnvidia-nvvm.so."+release, "libnvidia-opencl.so."+release, "libnvidia-ptxjitcompiler.so."+release),
				nodefiles.Below(test.programs, "nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-smi"), test.more,
			)
			slices.Sort(needed)
			if diff := cmp.Diff(needed, mountsOf(t, &spec, test.root)); diff != "" {
				t.Errorf("mounts, -needed +given:\n%s", diff)
			}
			hooks := [][]string{
				{test.hook, "create-symlinks", "--link", "libcuda.so.1::" + test.library + "/libcuda.so"},
				{test.hook, "enable-cuda-compat", "--host-driver-version=" + release},
				{test.hook, "update-ldcache", "--ldconfig-path", test.ldconfig, "--folder", test.library},
				{test.hook, "disable-device-node-modification"},
			}
			if diff := cmp.Diff(hooks, hooksOf(t, &spec)); diff != "" {
				t.Errorf("hooks, -needed +given:\n%s", diff)
			}
			environment := []string{"NVIDIA_CTK_LIBCUDA_DIR=" + test.library, "NVIDIA_VISIBLE_DEVICES=void"}
			if diff := cmp.Diff(environment, spec.ContainerEdits.Env); diff != "" {
				t.Errorf("variables, -needed +given:\n%s", diff)
			}
			if driver, err := injection.ParseDriver(stdout); err != nil || driver.Version != release {
				t.Errorf("the agent takes it for %+v: %v", driver, err)
			}
			if bytes.Contains(stdout, []byte(host)) {
				t.Errorf("a path of this program's is told:\n%s", stdout)
			}
		})
	}
}

// mountsOf returns the files that a container gets, by their paths in it, which are their paths below the driver's root.
func mountsOf(t *testing.T, spec *specs.Spec, root string) []string {
	t.Helper()
	var mounts []string
	for _, m := range spec.ContainerEdits.Mounts {
		if m.HostPath != root+m.ContainerPath {
			t.Errorf("%s is given as %s, and is below %q", m.HostPath, m.ContainerPath, root)
		}
		if !strings.HasSuffix(m.ContainerPath, "socket") && !slices.Contains(m.Options, "ro") {
			t.Errorf("%s may be written: %v", m.ContainerPath, m.Options)
		}
		mounts = append(mounts, m.ContainerPath)
	}
	slices.Sort(mounts)
	return mounts
}

// hooksOf are the programs that the runtime runs, each with its arguments but for the first, which is its own name.
func hooksOf(t *testing.T, spec *specs.Spec) [][]string {
	t.Helper()
	var hooks [][]string
	for _, h := range spec.ContainerEdits.Hooks {
		if h.HookName != "createContainer" || len(h.Args) < 2 {
			t.Fatalf("%+v", h)
		}
		hooks = append(hooks, append([]string{h.Path}, h.Args[1:]...))
	}
	return hooks
}
