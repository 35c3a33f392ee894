package injection

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// standIns are devices of a kind whose nodes every Linux host has, so that a runtime's library can look at them.
func standIns() []v1alpha1.Device {
	devices := gpus(3)
	for i, name := range []string{"/dev/null", "/dev/zero", "/dev/full"} {
		devices[i].Paths = []string{name}
	}
	return devices
}

func specificationsOf(t *testing.T, node Node) []specs.Spec {
	t.Helper()
	all, unknown, err := Specifications(node.Devices, node)
	if err != nil || unknown != nil {
		t.Fatal(unknown, err)
	}
	return all
}

func keep(t *testing.T, folder Folder, all []specs.Spec) []string {
	t.Helper()
	changed, err := folder.Keep(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// containerd and CRI-O read specifications by this library.
func TestRuntimesInjectByTheSpecification(t *testing.T) {
	node := nodeOf(standIns())
	all := specificationsOf(t, node)
	all[0].ContainerEdits.DeviceNodes = cdiNodes([]string{"/dev/random"}) // nothing here has NVIDIA's
	folder := Folder(t.TempDir())
	keep(t, folder, all)
	cache, err := cdi.NewCache(cdi.WithSpecDirs(string(folder)), cdi.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	if problems := cache.GetErrors(); len(problems) > 0 {
		t.Fatal(problems)
	}
	answer, err := For(CDI, pick(node.Devices, 2, 0), node)
	if err != nil {
		t.Fatal(err)
	}
	container := &oci.Spec{}
	if unresolved, err := cache.InjectDevices(container, answer.CDIDevices...); err != nil {
		t.Fatalf("%v: %v", unresolved, err)
	}
	var got, rules []string
	for _, d := range container.Linux.Devices {
		got = append(got, d.Path)
	}
	for _, rule := range container.Linux.Resources.Devices {
		rules = append(rules, rule.Access)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"/dev/full", "/dev/null", "/dev/random"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"rw", "rw", "rw"}, rules); diff != "" {
		t.Errorf("cgroup rules, -want +got:\n%s", diff)
	}
	if len(container.Mounts) != 1 || container.Mounts[0].Destination != "/usr/lib/libcuda.so."+testRelease {
		t.Errorf("mounts: %v", container.Mounts)
	}
	if hooks := container.Hooks; hooks == nil || len(hooks.CreateContainer) != 1 || hooks.CreateContainer[0].Path != "/usr/bin/nvidia-cdi-hook" {
		t.Errorf("hooks: %+v", hooks)
	}
}

func TestSpecificationsAreValidAndOld(t *testing.T) {
	for name, devices := range hosts {
		t.Run(name, func(t *testing.T) {
			all := specificationsOf(t, nodeOf(devices()))
			folder := t.TempDir()
			keep(t, Folder(folder), all)
			for i := range all {
				file := filepath.Join(folder, fileName(all[i].Kind))
				if _, err := cdi.ReadSpec(file, 0); err != nil {
					t.Error(err)
				}
				if all[i].Version != "0.3.0" {
					t.Errorf("%s has version %s", file, all[i].Version)
				}
			}
		})
	}
}

func TestSpecificationsLeaveOutWhatCannotBeGiven(t *testing.T) {
	devices := append(gpus(3), amdGPUs(1)...)
	devices[0].Paths = nil
	devices[1].ID += "_"
	devices[3].Paths = nil
	all := specificationsOf(t, nodeOf(append(devices, devices[2])))
	if len(all) != 1 || len(all[0].Devices) != 1 || all[0].Devices[0].Name != string(devices[2].ID) {
		t.Errorf("got %+v", all)
	}
}

func TestFolder(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "run", "cdi"))
	if changed := keep(t, folder, nil); changed != nil {
		t.Errorf("nothing is served: %v", changed)
	}
	if _, err := os.Stat(string(folder)); err == nil {
		t.Error("nothing is served and the folder was made")
	}
	both := specificationsOf(t, nodeOf(append(gpus(2), amdGPUs(1)...)))
	const amd, nvidia = "rankwright.dev-amd-gpu.json", "rankwright.dev-nvidia-gpu.json"
	if diff := cmp.Diff([]string{amd, nvidia}, keep(t, folder, both)); diff != "" {
		t.Errorf("first, -want +got:\n%s", diff)
	}
	before, err := os.Stat(filepath.Join(string(folder), nvidia))
	if err != nil {
		t.Fatal(err)
	}
	if changed := keep(t, folder, both); changed != nil {
		t.Errorf("again: %v", changed)
	}
	others := map[string]string{"nvidia.yaml": "vendor's", "rankwright.dev-notes.txt": "not ours", amd + ".unfinished": "left over"}
	for name, content := range others {
		if err := os.WriteFile(filepath.Join(string(folder), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{amd}, keep(t, folder, both[1:])); diff != "" {
		t.Errorf("AMD is no longer served, -want +got:\n%s", diff)
	}
	after, err := os.Stat(filepath.Join(string(folder), nvidia))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file that was right was written again: %v", err)
	}
	if diff := cmp.Diff([]string{"nvidia.yaml", "rankwright.dev-notes.txt", nvidia}, namesIn(t, folder)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if after.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("mode %v: runtimes of other users cannot read it", after.Mode())
	}
	if diff := cmp.Diff([]string{nvidia}, keep(t, folder, nil)); diff != "" {
		t.Errorf("nothing is served, -want +got:\n%s", diff)
	}
}

func namesIn(t *testing.T, folder Folder) []string {
	t.Helper()
	entries, err := os.ReadDir(string(folder))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// A file that cannot be replaced stays as it was, is reported, and leaves nothing behind.
func TestFolderThatCannotBeWritten(t *testing.T) {
	folder := Folder(t.TempDir())
	all := specificationsOf(t, nodeOf(gpus(1)))
	target := filepath.Join(string(folder), fileName(all[0].Kind))
	if err := os.MkdirAll(filepath.Join(target, "in the way"), 0o755); err != nil { //nolint:gosec // a test's
		t.Fatal(err)
	}
	changed, err := folder.Keep(all, nil)
	if err == nil || changed != nil || !strings.Contains(err.Error(), "CDI kind rankwright.dev/nvidia-gpu") {
		t.Errorf("changed %v: %v", changed, err)
	}
	if diff := cmp.Diff([]string{filepath.Base(target)}, namesIn(t, folder)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := Folder("/dev/null/cdi").Keep(all, nil); err == nil {
		t.Error("a folder below a file was made")
	}
	if _, err := Folder("/dev/null").Keep(nil, nil); err == nil {
		t.Error("a file is no folder")
	}
}
