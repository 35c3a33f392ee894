//go:build linux && cgo

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/test/nodefiles"
)

// A container that was granted a GPU by our specification starts, by runc and NVIDIA's own program for hooks, and its loader
// knows the driver's libcuda. The driver is a played one; the GPU's node is one that every host has.
func TestContainerStartsWithTheDriver(t *testing.T) {
	if os.Getenv("RANKWRIGHT_CLUSTER") == "" {
		t.Skip("runs with RANKWRIGHT_CLUSTER=1, as root, where runc and a C compiler are installed")
	}
	const folder = "/usr/lib/x86_64-linux-gnu"
	host := tree(t, nodefiles.Libraries("/driver"+folder)...)
	nodefiles.CompileLibcuda(t, filepath.Join(host, "driver", folder))
	hook := filepath.Join(host, hookName)
	must(t, "go", "build", "-tags", "netgo,osusergo", "-trimpath", "-ldflags", "-s -w -linkmode external -extldflags '-static -Wl,-z,lazy'", "-o", hook,
		"github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook")
	text, problem := runProgram(t, "generate", "--driver-root="+host+"/driver", "--hook="+hook)
	if problem != "" {
		t.Fatal(problem)
	}
	driver, err := injection.ParseDriver(text)
	if err != nil {
		t.Fatal(err)
	}
	device := v1alpha1.Device{ID: "nvidia-0", Vendor: "nvidia", Backend: "nvidia", DriverVersion: release, Paths: []string{"/dev/full"}}
	node := injection.Node{Devices: []v1alpha1.Device{device}, Driver: driver}
	all, _, err := injection.Specifications(node.Devices, node)
	if err != nil {
		t.Fatal(err)
	}
	specifications := injection.Folder(filepath.Join(host, "cdi"))
	if _, err := specifications.Keep(all, nil); err != nil {
		t.Fatal(err)
	}
	answer, err := injection.For(injection.CDI, node.Devices, node)
	if err != nil {
		t.Fatal(err)
	}
	said := runContainer(t, filepath.Join(host, "bundle"), string(specifications), answer.CDIDevices)
	for _, want := range []string{"libcuda.so.1 ", folder + "/libcuda.so.1"} {
		if !strings.Contains(said, want) {
			t.Errorf("the container's loader knows no %q:\n%s", want, said)
		}
	}
}

// runContainer runs `ldconfig -p` in a container with the CDI devices, and returns what it prints: the libraries that the
// loader knows.
func runContainer(t *testing.T, bundle, specifications string, devices []string) string {
	t.Helper()
	for _, name := range []string{"rootfs/sbin", "rootfs/etc", "rootfs/proc", "rootfs/dev", "rootfs/usr/lib"} {
		if err := os.MkdirAll(filepath.Join(bundle, name), 0o755); err != nil { //nolint:gosec // a test's
			t.Fatal(err)
		}
	}
	nodefiles.Copy(t, "/sbin/ldconfig", filepath.Join(bundle, "rootfs", "sbin", "ldconfig"))
	command := exec.CommandContext(t.Context(), "runc", "spec")
	command.Dir = bundle
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("runc spec: %v: %s", err, output)
	}
	config := filepath.Join(bundle, "config.json")
	content, err := os.ReadFile(config) //nolint:gosec // a test's
	var spec oci.Spec
	if err == nil {
		err = json.Unmarshal(content, &spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	spec.Process.Args, spec.Process.Terminal, spec.Root.Readonly = []string{"/sbin/ldconfig", "-p"}, false, false
	cache, err := cdi.NewCache(cdi.WithSpecDirs(specifications), cdi.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	if missing, err := cache.InjectDevices(&spec, devices...); err != nil {
		t.Fatal(missing, err)
	}
	if content, err = json.Marshal(spec); err == nil {
		err = os.WriteFile(config, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return must(t, "runc", "run", "--bundle", bundle, filepath.Base(filepath.Dir(bundle)))
}

func must(t *testing.T, argv ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput() //nolint:gosec // a test's own
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, output)
	}
	return string(output)
}
