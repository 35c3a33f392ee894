package injection

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// tree is a node's files by name; the content of a device node is empty.
type tree map[string]string

func (t tree) ReadFile(name string) ([]byte, error) {
	if content, ok := t[name]; ok {
		return []byte(content), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (t tree) ReadDir(name string) ([]string, error) {
	var names []string
	for file := range maps.Keys(t) {
		if path.Dir(file) == name {
			names = append(names, path.Base(file))
		}
	}
	if names == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	slices.Sort(names)
	return names, nil
}

func (t tree) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

func (t tree) RealPath(name string) (string, error) { return name, nil }

func (t tree) Stat(name string) (fs.FileMode, error) {
	_, err := t.ReadFile(name)
	return fs.ModeDevice, err
}

// nodeOf is a node that has the devices and every node that they need, and further files.
func nodeOf(devices []v1alpha1.Device, more ...string) Node {
	files := tree{}
	for i := range devices {
		kind := kindOf(&devices[i])
		for _, name := range slices.Concat(devices[i].Paths, kind.Required) {
			files[name] = ""
		}
	}
	for _, name := range more {
		name, content, _ := strings.Cut(name, "=")
		files[name] = content
	}
	return Node{Devices: devices, Files: files, Driver: driverOf(testRelease)}
}

// testRelease is the driver's release where a test does not say another.
const testRelease = "580.105.08"

// driverOf is what a container needs of a driver, as far as it matters here.
func driverOf(release string) *Driver {
	return &Driver{Version: release, edits: specs.ContainerEdits{
		Env:    []string{"NVIDIA_CTK_LIBCUDA_DIR=/usr/lib"},
		Mounts: []*specs.Mount{{HostPath: "/usr/lib/libcuda.so." + release, ContainerPath: "/usr/lib/libcuda.so." + release, Options: []string{"ro"}}},
		Hooks:  []*specs.Hook{{HookName: "createContainer", Path: "/usr/bin/nvidia-cdi-hook", Args: []string{"nvidia-cdi-hook", "update-ldcache"}}},
	}}
}

// settled has settings for NVIDIA's devices of a node.
func settled(node Node, s Settings) Node {
	node.Vendors = map[string]Settings{"nvidia": s, "amd": s}
	return node
}

func number(n int) *int32 {
	index := int32(n)
	return &index
}

func gpus(n int) []v1alpha1.Device {
	var devices []v1alpha1.Device
	for i := range n {
		devices = append(devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:0%d:00.0", i)), Vendor: "nvidia", Backend: "nvidia", Family: v1alpha1.FamilyGPU,
			UUID: fmt.Sprintf("GPU-%08d-0000-4000-8000-000000000000", i), Index: number(i), Paths: []string{fmt.Sprint("/dev/nvidia", i)},
		})
	}
	return devices
}

func migDevices(n int) []v1alpha1.Device {
	var devices []v1alpha1.Device
	for i := range n {
		devices = append(devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:00:00.0-mig%d", i+7)), Vendor: "nvidia", Backend: "nvidia", Family: v1alpha1.FamilyGPU,
			UUID: fmt.Sprintf("MIG-%08d-0000-4000-8000-000000000000", i), Index: number(0),
			Paths: []string{
				"/dev/nvidia0", fmt.Sprint("/dev/nvidia-caps/nvidia-cap", 2*i+1), fmt.Sprint("/dev/nvidia-caps/nvidia-cap", 2*i+2),
			},
			Partition: &v1alpha1.DevicePartition{Kind: "MIG", Parent: "nvidia-0000:00:00.0", Index: int32(i + 7)},
		})
	}
	return devices
}

func amdGPUs(n int) []v1alpha1.Device {
	var devices []v1alpha1.Device
	for i := range n {
		devices = append(devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprintf("amd-0000:0%d:00.0", i)), Vendor: "amd", Backend: "amd", Family: v1alpha1.FamilyGPU,
			UUID: fmt.Sprintf("GPU-%016x", i+1), Index: number(128 + i),
			Paths: []string{"/dev/kfd", fmt.Sprint("/dev/dri/renderD", 128+i), fmt.Sprint("/dev/dri/card", i)},
		})
	}
	return devices
}

// cored are chips of a vendor that are listed by their cores.
func cored(vendor, backend, profile, pattern string, chips, cores int) []v1alpha1.Device {
	var devices []v1alpha1.Device
	for i := range chips {
		parent := v1alpha1.DeviceID(fmt.Sprintf("%s-0000:0%d:00.0", vendor, i))
		for core := range cores {
			devices = append(devices, v1alpha1.Device{
				ID: v1alpha1.DeviceID(fmt.Sprintf("%s-%d", parent, core)), Vendor: vendor, Backend: backend, Family: v1alpha1.FamilyASIC,
				Index: number(i), Paths: []string{fmt.Sprintf(pattern, i)},
				Partition: &v1alpha1.DevicePartition{Kind: "core", Parent: parent, Profile: profile, Index: int32(core)},
			})
		}
	}
	return devices
}

func neuronChips(chips, cores int, profile string) []v1alpha1.Device {
	return cored("aws", "neuron", profile, "/dev/neuron%d", chips, cores)
}

func tpus(n int) []v1alpha1.Device {
	var devices []v1alpha1.Device
	for i := range n {
		devices = append(devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprintf("google-0000:00:0%d.0", i)), Vendor: "google", Backend: "tpu", Family: v1alpha1.FamilyTPU,
			Index: number(i), Paths: []string{fmt.Sprint("/dev/vfio/", i), "/dev/vfio/vfio"},
		})
	}
	return devices
}

func indexed(vendor, backend string, family v1alpha1.DeviceFamily, n int, paths ...string) []v1alpha1.Device {
	var devices []v1alpha1.Device
	for i := range n {
		address := fmt.Sprintf("0000:0%d:00.0", i)
		d := v1alpha1.Device{
			ID: v1alpha1.DeviceID(vendor + "-" + address), Vendor: vendor, Backend: backend, Family: family, Index: number(i),
			PCI: &v1alpha1.PCIDevice{Address: address},
		}
		for _, pattern := range paths {
			d.Paths = append(d.Paths, strings.ReplaceAll(pattern, "N", fmt.Sprint(i)))
		}
		devices = append(devices, d)
	}
	return devices
}

func maxGPUs(n int) []v1alpha1.Device {
	devices := indexed("intel", "intel-gpu", v1alpha1.FamilyGPU, n, "/dev/dri/renderD12N")
	for i := range devices {
		devices[i].Product = "Intel(R) Data Center GPU Max 1550"
	}
	return devices
}

func npus(n int) []v1alpha1.Device {
	return indexed("huawei", "ascend", v1alpha1.FamilyNPU, n, "/dev/davinciN", "/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
}

func gaudis(n int) []v1alpha1.Device {
	return indexed("intel", "gaudi", v1alpha1.FamilyASIC, n, "/dev/accel/accelN", "/dev/accel/accel_controlDN")
}

// pick returns the devices by their places in the list.
func pick(devices []v1alpha1.Device, places ...int) []v1alpha1.Device {
	var picked []v1alpha1.Device
	for _, place := range places {
		picked = append(picked, devices[place])
	}
	return picked
}
