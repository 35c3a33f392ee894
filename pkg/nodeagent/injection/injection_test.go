package injection

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var modules = []string{
	"/sys/bus/pci/devices/0000:00:00.0/module_id=6\n", "/sys/bus/pci/devices/0000:01:00.0/module_id=4\n",
	"/sys/bus/pci/devices/0000:02:00.0/module_id=7\n",
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name    string
		mode    Mode
		node    Node
		granted []int
		want    Answer
	}{
		{
			"NVIDIA: UUIDs, and shared nodes where the host has them", DeviceNodes,
			nodeOf(gpus(4)),
			[]int{2, 0},
			Answer{
				Paths:       []string{"/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia2", "/dev/nvidiactl"},
				Environment: map[string]string{"NVIDIA_VISIBLE_DEVICES": "GPU-00000000-0000-4000-8000-000000000000,GPU-00000002-0000-4000-8000-000000000000"},
			},
		},
		{
			"NVIDIA: nothing of its own for the runtime beside CDI", CDI, nodeOf(gpus(4)),
			[]int{3},
			Answer{
				CDIDevices:  []string{"rankwright.dev/nvidia-gpu=nvidia-0000:03:00.0"},
				Environment: map[string]string{"NVIDIA_VISIBLE_DEVICES": "void"},
			},
		},
		{
			"MIG: the GPU's node and the instance's capabilities", DeviceNodes, nodeOf(migDevices(3)),
			[]int{1},
			Answer{
				Paths:       []string{"/dev/nvidia-caps/nvidia-cap3", "/dev/nvidia-caps/nvidia-cap4", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"},
				Environment: map[string]string{"NVIDIA_VISIBLE_DEVICES": "MIG-00000001-0000-4000-8000-000000000000"},
			},
		},
		{
			"NVIDIA: IMEX channels where they are asked for", DeviceNodes,
			settled(nodeOf(gpus(1), "/dev/nvidia-caps-imex-channels/channel0"), Settings{IMEXChannels: []int{0}}),
			[]int{0},
			Answer{
				Paths:       []string{"/dev/nvidia-caps-imex-channels/channel0", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"},
				Environment: map[string]string{"NVIDIA_VISIBLE_DEVICES": "GPU-00000000-0000-4000-8000-000000000000"},
			},
		},
		{
			"AMD: nodes alone, since Ray does not start beside ROCR_VISIBLE_DEVICES", DeviceNodes, nodeOf(amdGPUs(2)),
			[]int{1},
			Answer{Paths: []string{"/dev/dri/card1", "/dev/dri/renderD129", "/dev/kfd"}},
		},
		{
			"AMD: likewise by CDI", CDI, nodeOf(amdGPUs(2)),
			[]int{0},
			Answer{CDIDevices: []string{"rankwright.dev/amd-gpu=amd-0000:00:00.0"}},
		},
		{
			"Intel Max: a card is one device, not one for each tile", CDI, nodeOf(maxGPUs(2)),
			[]int{1},
			Answer{
				CDIDevices:  []string{"rankwright.dev/intel-gpu=intel-0000:01:00.0"},
				Environment: map[string]string{"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"},
			},
		},
		{
			"Intel Flex: one tile, no variable", DeviceNodes, nodeOf(indexed("intel", "intel-gpu", v1alpha1.FamilyGPU, 1, "/dev/dri/renderD12N")),
			[]int{0},
			Answer{Paths: []string{"/dev/dri/renderD120"}},
		},
		{
			"Neuron: a whole chip needs no variable", DeviceNodes, nodeOf(neuronChips(3, 2, "")),
			[]int{2, 3},
			Answer{Paths: []string{"/dev/neuron1"}},
		},
		{
			"Neuron: cores of the first chips", DeviceNodes, nodeOf(neuronChips(3, 4, "LNC=2")),
			[]int{0, 1, 2, 3, 6},
			Answer{
				Paths:       []string{"/dev/neuron0", "/dev/neuron1"},
				Environment: map[string]string{"NEURON_RT_VISIBLE_CORES": "0,1,2,3,6", "NEURON_LOGICAL_NC_CONFIG": "2"},
			},
		},
		{
			"Neuron: a core of the only chip", CDI, nodeOf(neuronChips(1, 2, "")),
			[]int{1},
			Answer{
				CDIDevices:  []string{"rankwright.dev/aws-neuron=aws-0000:00:00.0-1"},
				Environment: map[string]string{"NEURON_RT_VISIBLE_CORES": "1"},
			},
		},
		{
			"TPU: all chips need no variable", DeviceNodes, nodeOf(tpus(4)),
			[]int{0, 1, 2, 3},
			Answer{Paths: []string{"/dev/vfio/0", "/dev/vfio/1", "/dev/vfio/2", "/dev/vfio/3", "/dev/vfio/vfio"}},
		},
		{
			"TPU: the shape of some chips", DeviceNodes, nodeOf(tpus(8)),
			[]int{4, 5},
			Answer{
				Paths:       []string{"/dev/vfio/4", "/dev/vfio/5", "/dev/vfio/vfio"},
				Environment: map[string]string{"TPU_CHIPS_PER_PROCESS_BOUNDS": "1,2,1", "TPU_PROCESS_BOUNDS": "1,1,1"},
			},
		},
		{
			"TPU: both cores of every chip", DeviceNodes, nodeOf(cored("google", "tpu", "", "/dev/vfio/%d", 1, 2)),
			[]int{0, 1},
			Answer{Paths: []string{"/dev/vfio/0"}},
		},
		{
			"Ascend: numbers on the host, for its runtime", DeviceNodes, nodeOf(npus(8)),
			[]int{7, 2},
			Answer{
				Paths:       []string{"/dev/davinci2", "/dev/davinci7", "/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"},
				Environment: map[string]string{"ASCEND_VISIBLE_DEVICES": "2,7"},
			},
		},
		{
			"Ascend: nothing for its runtime beside CDI", CDI, nodeOf(npus(8)),
			[]int{7},
			Answer{CDIDevices: []string{"rankwright.dev/huawei-npu=huawei-0000:07:00.0"}},
		},
		{
			"Gaudi: modules of some cards", DeviceNodes, nodeOf(gaudis(3), modules...),
			[]int{0, 1},
			Answer{
				Paths:       []string{"/dev/accel/accel0", "/dev/accel/accel1", "/dev/accel/accel_controlD0", "/dev/accel/accel_controlD1"},
				Environment: map[string]string{"HABANA_VISIBLE_DEVICES": "0,1", "HABANA_VISIBLE_MODULES": "4,6"},
			},
		},
		{
			"Gaudi: all cards, and modules beside CDI", CDI, nodeOf(gaudis(3), modules...),
			[]int{0, 1, 2},
			Answer{CDIDevices: []string{
				"rankwright.dev/intel-gaudi=intel-0000:00:00.0", "rankwright.dev/intel-gaudi=intel-0000:01:00.0", "rankwright.dev/intel-gaudi=intel-0000:02:00.0",
			}},
		},
		{
			"Gaudi: modules are not restricted by what the driver does not tell", CDI, nodeOf(gaudis(3), modules[:1]...),
			[]int{0, 1},
			Answer{CDIDevices: []string{"rankwright.dev/intel-gaudi=intel-0000:00:00.0", "rankwright.dev/intel-gaudi=intel-0000:01:00.0"}},
		},
		{
			"a backend without a row: its own nodes", DeviceNodes,
			nodeOf(indexed("moore-threads", "vulkan", v1alpha1.FamilyGPU, 2, "/dev/dri/renderD12N")),
			[]int{1},
			Answer{Paths: []string{"/dev/dri/renderD121"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := For(test.mode, pick(test.node.Devices, test.granted...), test.node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func changed(devices []v1alpha1.Device, change func(*v1alpha1.Device)) []v1alpha1.Device {
	change(&devices[0])
	return devices
}

func TestRefusals(t *testing.T) {
	n300 := cored("tenstorrent", "tenstorrent", "", "/dev/tenstorrent/%d", 1, 2)
	for _, test := range []struct {
		name    string
		mode    Mode
		devices []v1alpha1.Device
		granted []int
		want    string
	}{
		{"unknown mode", "Env", gpus(1), []int{0}, `injection mode "Env": not known, take CDI or DeviceNodes`},
		{"nothing granted", CDI, gpus(1), nil, "granted devices: none"},
		{"two classes", CDI, append(gpus(1), amdGPUs(1)...), []int{0, 1}, "amd-0000:00:00.0 is amd-gpu and nvidia-0000:00:00.0 is nvidia-gpu"},
		{"UUID not known yet", DeviceNodes, changed(gpus(1), func(d *v1alpha1.Device) { d.UUID = "GPU-????????" }), []int{0}, `device nvidia-0000:00:00.0: uuid "GPU-????????"`},
		{
			"UUID that would add a device", DeviceNodes, changed(gpus(2), func(d *v1alpha1.Device) { d.UUID += ",GPU-1" }),
			[]int{0},
			"NVIDIA_VISIBLE_DEVICES needs it",
		},
		{"bound for virtual machines", CDI, changed(gpus(1), func(d *v1alpha1.Device) { d.Paths, d.Driver = nil, "vfio-pci" }), []int{0}, "bind the vendor's driver"},
		{"no driver", CDI, changed(gpus(1), func(d *v1alpha1.Device) { d.Paths, d.Health.Message = nil, "install the driver" }), []int{0}, "install the driver"},
		{"no node", CDI, changed(gpus(1), func(d *v1alpha1.Device) { d.Paths = nil }), []int{0}, "has no device node"},
		{"path outside of /dev", DeviceNodes, changed(gpus(1), func(d *v1alpha1.Device) { d.Paths[0] = "/dev/../etc/shadow" }), []int{0}, "not a file below /dev"},
		{"index not known", DeviceNodes, changed(npus(1), func(d *v1alpha1.Device) { d.Index = nil }), []int{0}, "index is not known"},
		{"id that is no CDI name", CDI, changed(gpus(1), func(d *v1alpha1.Device) { d.ID += "_" }), []int{0}, "take mode DeviceNodes"},
		{"one chip of a board", DeviceNodes, n300, []int{0}, "device tenstorrent-0000:00:00.0-0 and tenstorrent-0000:00:00.0-1: they are reached by the same device nodes"},
		{"one core of a TPU", CDI, cored("google", "tpu", "", "/dev/vfio/%d", 2, 2), []int{0}, "grant them together"},
		{"some chips of TPUs with two cores", CDI, cored("google", "tpu", "", "/dev/vfio/%d", 2, 2), []int{0, 1}, "grant all chips of the host"},
		{"three TPU chips of four", DeviceNodes, tpus(4), []int{0, 1, 2}, "3 chips of this host make no shape"},
		{"a Neuron core of the second chip", DeviceNodes, neuronChips(2, 2, ""), []int{2}, "grant every core of aws-0000:01:00.0"},
		{
			"Neuron chips of different sizes", DeviceNodes, append(neuronChips(1, 4, ""), neuronChips(2, 2, "")[2:]...),
			[]int{0, 4},
			"cores cannot be numbered",
		},
		{
			"Neuron cores grouped differently", DeviceNodes, changed(neuronChips(1, 3, "LNC=2"), func(d *v1alpha1.Device) { d.Partition.Profile = "LNC=1" }),
			[]int{0, 1},
			"grouped in different ways (1, 2)",
		},
		{"Neuron chip of unknown number", DeviceNodes, changed(neuronChips(1, 2, ""), func(d *v1alpha1.Device) { d.Index = nil }), []int{0}, "grant them together"},
		{"Neuron chips of which nobody knows whose node is whose", DeviceNodes, unnumberedChips(), []int{0, 1}, "grant them together"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := For(test.mode, pick(test.devices, test.granted...), nodeOf(test.devices))
			if err == nil {
				t.Fatalf("answered %+v", got)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestNodeThatIsGone(t *testing.T) {
	node := nodeOf(gpus(2))
	delete(node.Files.(tree), "/dev/nvidia1") //nolint:errcheck,forcetypeassert // nodeOf makes one
	if _, err := For(DeviceNodes, node.Devices[:1], node); err != nil {
		t.Errorf("the other: %v", err)
	}
	_, err := For(DeviceNodes, node.Devices[1:], node)
	if err == nil || !strings.Contains(err.Error(), "device nvidia-0000:01:00.0: /dev/nvidia1 is gone") {
		t.Errorf("got %v", err)
	}
}

func TestDevicesThatOnlyGoTogetherAreRefusedAlone(t *testing.T) {
	for _, test := range []struct {
		name     string
		devices  []v1alpha1.Device
		together bool
	}{
		{"GPUs", gpus(2), false},
		{"MIG devices of one GPU", migDevices(2), false},
		{"chips behind one node", cored("tenstorrent", "tenstorrent", "", "/dev/tenstorrent/%d", 2, 2), true},
		{"cores that a variable separates", neuronChips(1, 2, ""), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := nodeOf(test.devices)
			_, err := For(CDI, test.devices[:1], node)
			if errors.Is(err, errNotSeparable) != test.together || (err != nil && !test.together) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestKindsAreSortedAndExplained(t *testing.T) {
	if !slices.IsSortedFunc(Kinds(), func(a, b Kind) int { return strings.Compare(a.Backend, b.Backend) }) {
		t.Error("not in order of the backends")
	}
	for _, k := range Kinds() {
		if k.Noun == "" || k.Note == "" {
			t.Errorf("%s: noun or note is missing", k.Backend)
		}
		if len(k.Variables) > 0 && k.Sources == "" {
			t.Errorf("%s: variables without a source", k.Backend)
		}
	}
}

// unnumberedChips are two NeuronDevices of two cores that are reached by one of two nodes each, and nobody knows by which.
func unnumberedChips() []v1alpha1.Device {
	return changed(neuronChips(2, 2, ""), func(d *v1alpha1.Device) { d.Index, d.Paths = nil, []string{"/dev/neuron0", "/dev/neuron1"} })
}

// All chips of the host together need no more than all nodes.
func TestNeuronChipsOfUnknownNodesAreGrantedTogether(t *testing.T) {
	devices := unnumberedChips()
	answer, err := For(DeviceNodes, devices, nodeOf(devices))
	if err != nil || len(answer.Paths) != 2 || len(answer.Environment) != 0 {
		t.Errorf("got %+v, %v; want both nodes and no variable", answer, err)
	}
	if _, err := For(DeviceNodes, devices[:1], nodeOf(devices)); !errors.Is(err, errNotSeparable) {
		t.Errorf("the first core alone: got %v, want %v", err, errNotSeparable)
	}
}
