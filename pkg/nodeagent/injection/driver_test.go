package injection

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// drawing is a GPU with the nodes that it draws by, on a node whose /dev/dri has one of another device, too.
func drawing() Node {
	devices := changed(gpus(1), func(d *v1alpha1.Device) { d.PCI = &v1alpha1.PCIDevice{Address: "0000:00:00.0"} })
	return nodeOf(devices, "/sys/bus/pci/devices/0000:00:00.0/drm/card1", "/sys/bus/pci/devices/0000:00:00.0/drm/renderD128",
		"/sys/bus/pci/devices/0000:00:00.0/drm/card9", "/dev/dri/card1", "/dev/dri/renderD128", "/dev/dri/card0")
}

// A container by our own specification has the device's nodes, the control nodes, and all that the driver adds.
func TestSpecificationHasTheDriver(t *testing.T) {
	node := settled(drawing(), Settings{IMEXChannels: []int{0}})
	node.Files.(tree)["/dev/nvidia-caps-imex-channels/channel0"] = "" //nolint:errcheck,forcetypeassert // nodeOf makes one
	folder := t.TempDir()
	keep(t, Folder(folder), specificationsOf(t, node))
	content, err := os.ReadFile(filepath.Join(folder, "rankwright.dev-nvidia-gpu.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cdi.ParseSpec(content); err != nil {
		t.Error(err)
	}
	const expected = `{
		"cdiVersion": "0.3.0", "kind": "rankwright.dev/nvidia-gpu",
		"devices": [{"name": "nvidia-0000:00:00.0", "containerEdits": {"deviceNodes": [
			{"path": "/dev/dri/card1", "permissions": "rw"}, {"path": "/dev/dri/renderD128", "permissions": "rw"}, {"path": "/dev/nvidia0", "permissions": "rw"}]}}],
		"containerEdits": {
			"env": ["NVIDIA_CTK_LIBCUDA_DIR=/usr/lib"],
			"deviceNodes": [{"path": "/dev/nvidia-caps-imex-channels/channel0", "permissions": "rw"},
				{"path": "/dev/nvidia-uvm", "permissions": "rw"}, {"path": "/dev/nvidiactl", "permissions": "rw"}],
			"mounts": [{"hostPath": "/usr/lib/libcuda.so.580.105.08", "containerPath": "/usr/lib/libcuda.so.580.105.08", "options": ["ro"]}],
			"hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "update-ldcache"]}]}
	}`
	var got, want any
	for text, into := range map[string]*any{string(content): &got, expected: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What is not known of the driver is no reason to take away what was written, and none to grant by it.
func TestDriverThatIsNotKnown(t *testing.T) {
	folder := Folder(t.TempDir())
	node := nodeOf(append(gpus(1), amdGPUs(1)...))
	keep(t, folder, specificationsOf(t, node))
	before := folder.Driver()
	if diff := cmp.Diff(node.Driver, before, cmp.AllowUnexported(Driver{})); diff != "" {
		t.Errorf("the next agent goes on from something else, -want +got:\n%s", diff)
	}
	node.Driver, node.DriverProblem = nil, "the tool hangs"
	all, unknown, err := Specifications(node.Devices, node)
	if err != nil || len(all) != 1 || len(unknown) != 1 {
		t.Fatal(all, unknown, err)
	}
	if changed, err := folder.Keep(all, unknown); err != nil || changed != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	if _, err := For(CDI, node.Devices[:1], node); err == nil || !strings.Contains(err.Error(), "what containers need of its driver is not known: the tool hangs") {
		t.Errorf("granted: %v", err)
	}
	for _, who := range []UserLibraries{FromImage, FromRuntime} {
		if _, err := For(CDI, node.Devices[:1], settled(node, Settings{UserLibraries: who})); err != nil {
			t.Errorf("libraries by %s: %v", who, err)
		}
	}
	if removed, err := folder.Clear(); err != nil || len(removed) != 2 || len(namesIn(t, folder)) != 0 {
		t.Errorf("removed %v: %v", removed, err)
	}
	if folder.Driver() != nil {
		t.Error("a folder without specifications knows a driver")
	}
}

func TestWhatCUDANeeds(t *testing.T) {
	without := func(name string) Node {
		node := nodeOf(gpus(1))
		delete(node.Files.(tree), name) //nolint:errcheck,forcetypeassert // nodeOf makes one
		return node
	}
	jetson := indexed("nvidia", "jetson", v1alpha1.FamilyGPU, 1, "/dev/nvmap")
	for _, test := range []struct {
		name  string
		modes []Mode
		node  Node
		want  string
	}{
		{"no unified memory", []Mode{CDI, DeviceNodes}, without("/dev/nvidia-uvm"), "the node has no /dev/nvidia-uvm, without which no container can use it: run `nvidia-modprobe -c 0 -u` there"},
		{"no control node", []Mode{CDI, DeviceNodes}, without("/dev/nvidiactl"), "the node has no /dev/nvidiactl"},
		{"no IMEX channel", []Mode{CDI, DeviceNodes}, settled(nodeOf(gpus(1)), Settings{IMEXChannels: []int{3}}), "imexChannels: the node has no /dev/nvidia-caps-imex-channels/channel3"},
		{
			"libraries of another driver",
			[]Mode{CDI},
			nodeOf(changed(gpus(1), func(d *v1alpha1.Device) { d.DriverVersion = "580.126.09" })),
			"its driver is 580.126.09, and the libraries for containers are 580.105.08",
		},
		{"Jetson", []Mode{CDI}, nodeOf(jetson), "set cdiKind to that of the host's (nvidia.com/gpu)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range test.modes {
				answer, err := For(mode, test.node.Devices, test.node)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %+v, %v\nwant %s", mode, answer, err, test.want)
				}
			}
		})
	}
	if all, unknown, err := Specifications(jetson, nodeOf(jetson)); len(all)+len(unknown) > 0 || err != nil {
		t.Errorf("a Jetson has a specification of ours: %v %v %v", all, unknown, err)
	}
}

// owned is a tree in which nodes belong to groups and have modes.
type owned struct {
	tree
	modes map[string]fs.FileMode
}

func (o owned) Stat(name string) (fs.FileMode, error) {
	mode, err := o.tree.Stat(name)
	return mode | o.modes[name], err
}

// With AdditionalGIDs, a container's processes are in the groups of the device nodes that not everybody may use.
func TestAdditionalGIDs(t *testing.T) {
	node := settled(nodeOf(amdGPUs(1)), Settings{AdditionalGIDs: true})
	node.Files = owned{node.Files.(tree), map[string]fs.FileMode{"/dev/kfd": 0o660, "/dev/dri/renderD128": 0o660, "/dev/dri/card0": 0o666}} //nolint:errcheck,forcetypeassert // nodeOf makes one
	node.Group = func(name string) (uint32, error) {
		return map[string]uint32{"/dev/kfd": 109, "/dev/dri/renderD128": 109}[name], nil
	}
	all := specificationsOf(t, node)
	if diff := cmp.Diff([]uint32{109}, all[0].Devices[0].ContainerEdits.AdditionalGIDs); diff != "" || all[0].Version != "0.7.0" {
		t.Errorf("version %s, -want +got:\n%s", all[0].Version, diff)
	}
	node.Group = func(string) (uint32, error) { return 0, nil } // root:root, which is no group to be in
	if all = specificationsOf(t, node); all[0].Devices[0].ContainerEdits.AdditionalGIDs != nil || all[0].Version != "0.3.0" {
		t.Errorf("%+v", all[0])
	}
	node.Group = nil
	if _, _, err := Specifications(node.Devices, node); err == nil || !strings.Contains(err.Error(), "additionalGids") {
		t.Errorf("owners that nobody knows: %v", err)
	}
}

func TestParseDriver(t *testing.T) {
	spec := func(change func(*specs.ContainerEdits)) string {
		edits := driverOf(testRelease).edits
		change(&edits)
		text, err := json.Marshal(specs.Spec{Version: "0.5.0", Kind: "nvidia.com/gpu", ContainerEdits: edits})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	driver, err := ParseDriver([]byte(spec(func(e *specs.ContainerEdits) { e.DeviceNodes = []*specs.DeviceNode{{Path: "/dev/nvidia0"}} })))
	if diff := cmp.Diff(driverOf(testRelease), driver, cmp.AllowUnexported(Driver{})); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	driver, err = ParseDriver([]byte(spec(func(e *specs.ContainerEdits) { e.Mounts[0].ContainerPath = "/usr/lib/wsl/drivers/nv/libcuda.so.1.1" })))
	if err != nil || driver.Version != "" {
		t.Errorf("%+v, %v", driver, err)
	}
	for text, want := range map[string]string{
		"[]": "not a CDI specification",
		spec(func(e *specs.ContainerEdits) { e.Mounts[0].ContainerPath = "/usr/lib/libcudart.so.12" }): "no libcuda.so is mounted",
		spec(func(e *specs.ContainerEdits) { e.Hooks[0].Path = "nvidia-cdi-hook" }):                    "no absolute path",
	} {
		if _, err := ParseDriver([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
