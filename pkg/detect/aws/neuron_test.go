package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// neuron adds chips of one kind at buses 10, 11, … and as many nodes of the driver's class; links are by number.
func (s tree) neuron(device, driver string, chips int, connected ...string) {
	s.Helper()
	for i := range chips {
		s.Function(fmt.Sprintf("pci0000:00/0000:%02x:00.0", 0x10+i), driver, compose.Attributes{
			"vendor": "0x1d0f", "device": "0x" + device, "class": "0x088000", "numa_node": "0",
		})
		if driver != neuronDriver {
			continue
		}
		links := ""
		if i < len(connected) {
			links = connected[i]
		}
		s.neuronNode(i, links)
	}
}

// neuronNode adds a member of the driver's class, as the driver makes it: without a link to the PCI function.
func (s tree) neuronNode(number int, connected string) {
	s.Helper()
	name := fmt.Sprint("neuron", number)
	folder := "/sys/devices/virtual/neuron_device/" + name
	s.Link(neuronClass+"/"+name, folder)
	s.File(folder+"/uevent", "DEVNAME="+name+"\n")
	s.File(folder+"/core_count", "2")
	s.File(folder+"/connected_devices", connected+"\n")
	s.Must(s.AddDevice("/dev/" + name))
}

// trn1NeuronLS is what neuron-ls of 2.28.23 printed on a trn1.2xlarge, as published.
const trn1NeuronLS = `[
    {
        "neuron_device": 0,
        "bdf": "0000:10:00.0",
        "cpu_affinity": "0-7",
        "numa_node": "-1",
        "connected_to": null,
        "nc_count": 2,
        "memory_size": 34359738368,
        "neuroncore_ids": [
            0,
            1
        ],
        "neuron_processes": []
    }
]`

func TestNeuronGenerations(t *testing.T) {
	for _, test := range []struct {
		device, product, architecture string
		cores                         int
		memoryMiB                     int64
		profile                       string
	}{
		{"7064", "NeuronDevice (Inferentia)", "Inferentia", 4, 2 << 10, ""},
		{"7067", "NeuronDevice (Inferentia)", "Inferentia", 4, 2 << 10, ""},
		{"7164", "NeuronDevice (Trainium)", "Trainium", 2, 16 << 10, ""},
		{"7264", "NeuronDevice (Inferentia2)", "Inferentia2", 2, 16 << 10, ""},
		{"7364", "NeuronDevice (Trainium2)", "Trainium2", 4, 24 << 10, "LNC=2"},
		{"7564", "NeuronDevice (Trainium3)", "Trainium3", 4, 36 << 10, "LNC=2"},
		{"7565", "NeuronDevice (Trainium3)", "Trainium3", 4, 36 << 10, "LNC=2"},
	} {
		t.Run(test.device, func(t *testing.T) {
			s := newTree(t)
			s.neuron(test.device, neuronDriver, 1)
			found := s.Detect(Neuron())
			if len(found.Devices) != test.cores {
				t.Fatalf("got %d devices, want %d", len(found.Devices), test.cores)
			}
			for i, d := range found.Devices {
				units := int32(1)
				if test.profile == "LNC=2" {
					units = 2
				}
				want := v1alpha1.Device{
					ID: v1alpha1.DeviceID(fmt.Sprintf("aws-0000:10:00.0-%d", i)), Vendor: "aws", Family: v1alpha1.FamilyASIC, Backend: "neuron",
					Product: test.product, Architecture: test.architecture, Driver: neuronDriver, Paths: []string{"/dev/neuron0"},
					ComputeUnits: units,
					Memory:       &v1alpha1.DeviceMemory{TotalMiB: test.memoryMiB, Source: v1alpha1.SourceCatalogue},
					Partition:    &v1alpha1.DevicePartition{Kind: "core", Profile: test.profile, Parent: "aws-0000:10:00.0", Index: int32(i)},
					Health:       v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Reason: backend.ReasonOpened, Message: "the device can be opened"},
				}
				d.PCI, d.NUMANode, d.Index, d.Performance, d.DriverVersion = nil, nil, nil, nil, ""
				if diff := cmp.Diff(want, d); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// What neuron-ls really prints has none of the fields model and memory_per_nc_mb, and adds to what the kernel shows.
func TestNeuronRealOutputHidesNothing(t *testing.T) {
	s := newTree(t)
	s.neuron("7164", neuronDriver, 1)
	s.Prints(trn1NeuronLS, "neuron-ls", "-j")
	found := s.Detect(Neuron())
	if len(found.Devices) != 2 || found.Degraded != "" {
		t.Fatalf("got %d devices, degraded %q", len(found.Devices), found.Degraded)
	}
	want := &v1alpha1.DeviceMemory{TotalMiB: 16 << 10, Source: v1alpha1.SourceDriver}
	if diff := cmp.Diff(want, found.Devices[0].Memory); diff != "" {
		t.Error(diff)
	}
}

func TestNeuronToolOfAnyKindHidesNothing(t *testing.T) {
	for name, result := range map[string]host.CommandResult{
		"nonsense":        {Stdout: []byte("neuron-ls: no")},
		"an object":       {Stdout: []byte(`{"neuron_devices": []}`)},
		"other addresses": {Stdout: []byte(strings.ReplaceAll(trn1NeuronLS, "10:00.0", "77:00.0"))},
		"wrong types":     {Stdout: []byte(`[{"neuron_device": "0", "bdf": 7}]`)},
		"nothing":         {},
		"a failure":       {ExitCode: 1, Stderr: []byte("no devices")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.neuron("7164", neuronDriver, 2)
			s.Must(s.AddCommand(result, "neuron-ls", "-j"))
			found := s.Detect(Neuron())
			if len(found.Devices) != 4 {
				t.Errorf("got %d devices, want 4", len(found.Devices))
			}
			if name != "nothing" && name != "other addresses" && found.Degraded == "" {
				t.Error("nothing is told of it")
			}
		})
	}
}

// The instance type is the host's: it says nothing of a chip's generation.
func TestNeuronGenerationIsNotTheInstanceTypes(t *testing.T) {
	s := newTree(t)
	s.neuron("7264", neuronDriver, 1)
	s.File("/sys/class/dmi/id/product_name", "trn1.32xlarge\n")
	if got := s.Detect(Neuron()).Devices[0].Architecture; got != "Inferentia2" {
		t.Errorf("got %s", got)
	}
}

func TestNeuronUnknownIDOfTheDriver(t *testing.T) {
	s := newTree(t)
	s.neuron("7964", neuronDriver, 1)
	s.Function("pci0000:00/0000:00:1f.0", "nvme", compose.Attributes{"vendor": "0x1d0f", "device": "0x8061", "class": "0x010802"})
	found := s.Detect(Neuron())
	if len(found.Devices) != 2 {
		t.Fatalf("got %d devices, want the 2 cores that the driver counts", len(found.Devices))
	}
	if d := found.Devices[0]; d.Memory != nil || d.Product != "AWS NeuronDevice 1d0f:7964" {
		t.Errorf("got %q with %+v", d.Product, d.Memory)
	}
}

// Nodes are paired with chips by neuron-ls's addresses, whatever their order.
func TestNeuronNodesByAddress(t *testing.T) {
	entry := `{"neuron_device": %d, "bdf": "%s", "memory_size": 34359738368, "neuroncore_ids": [0, 1]}`
	s := newTree(t)
	s.neuron("7164", neuronDriver, 2)
	s.Prints("["+fmt.Sprintf(entry, 1, "10:00.0")+","+fmt.Sprintf(entry, 0, "0000:11:00.0")+"]", "neuron-ls", "-j")
	for _, d := range s.Detect(Neuron()).Devices {
		want := map[string]string{"0000:10:00.0": "/dev/neuron1", "0000:11:00.0": "/dev/neuron0"}[d.PCI.Address]
		if len(d.Paths) != 1 || d.Paths[0] != want {
			t.Errorf("%s: got %v, want %s", d.ID, d.Paths, want)
		}
	}
}

// Without neuron-ls a chip is listed with all nodes of which one is its own, where there are as many of both: not by position.
func TestNeuronNodesOfWhichOneIsTheChips(t *testing.T) {
	for name, test := range map[string]struct {
		compose func(s tree)
		want    []string // of each chip
	}{
		"as many nodes as chips": {func(s tree) { s.neuron("7164", neuronDriver, 3) }, []string{
			"/dev/neuron0 /dev/neuron1 /dev/neuron2", "/dev/neuron0 /dev/neuron1 /dev/neuron2", "/dev/neuron0 /dev/neuron1 /dev/neuron2",
		}},
		"neuron-ls knows one of three": {func(s tree) {
			s.neuron("7164", neuronDriver, 3)
			s.Prints(`[{"neuron_device":2,"bdf":"0000:10:00.0"}]`, "neuron-ls", "-j")
		}, []string{"/dev/neuron2", "/dev/neuron0 /dev/neuron1", "/dev/neuron0 /dev/neuron1"}},
		"a node too many": {func(s tree) {
			s.neuron("7164", neuronDriver, 2)
			s.neuronNode(2, "")
		}, []string{"", ""}},
		"another driver": {func(s tree) { s.neuron("7164", "vfio-pci", 2) }, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			test.compose(s)
			var got []string
			for _, d := range s.Detect(Neuron()).Devices {
				if d.Partition.Index == 0 {
					got = append(got, strings.Join(d.Paths, " "))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNeuronNodeOfALink(t *testing.T) {
	s := newTree(t)
	s.neuron("7164", neuronDriver, 2)
	s.Link("/sys/devices/virtual/neuron_device/neuron1/device", "/sys/devices/pci0000:00/0000:10:00.0")
	found := s.Detect(Neuron())
	if d := found.Devices[0]; len(d.Paths) != 1 || d.Paths[0] != "/dev/neuron1" {
		t.Errorf("%s: got %v", d.ID, d.Paths)
	}
}

func TestNeuronOtherGrouping(t *testing.T) {
	for name, test := range map[string]struct {
		fields string
		told   bool
	}{
		"by the setting":      {`"nc_count": 8, "logical_neuroncore_config": 1, "neuroncore_ids": [0,1,2,3,4,5,6,7]`, true},
		"by the number":       {`"nc_count": 8, "neuroncore_ids": [0,1,2,3,4,5,6,7]`, true},
		"the default":         {`"nc_count": 4, "logical_neuroncore_config": 2, "neuroncore_ids": [0,1,2,3]`, false},
		"a physical nc_count": {`"nc_count": 8, "neuroncore_ids": [0,1,2,3]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.neuron("7364", neuronDriver, 1)
			s.Prints(`[{"neuron_device": 0, "bdf": "0000:10:00.0", "memory_size": 103079215104, `+test.fields+`}]`, "neuron-ls", "-j")
			found := s.Detect(Neuron())
			if len(found.Devices) != 4 {
				t.Errorf("got %d devices: ids must not depend on a tool", len(found.Devices))
			}
			if told := strings.Contains(found.Degraded, "NEURON_LOGICAL_NC_CONFIG"); told != test.told {
				t.Errorf("got degraded %q", found.Degraded)
			}
		})
	}
}

func TestNeuronHealth(t *testing.T) {
	for name, test := range map[string]struct {
		compose func(s tree)
		want    string
	}{
		"no driver":    {func(s tree) { s.neuron("7164", "", 1) }, "Unknown DriverMissing"},
		"other driver": {func(s tree) { s.neuron("7164", "vfio-pci", 1) }, "Unknown OtherDriver"},
		"a node":       {func(s tree) { s.neuron("7164", neuronDriver, 1) }, "Healthy Opened"},
		"a node each":  {func(s tree) { s.neuron("7164", neuronDriver, 3) }, "Healthy Opened"},
		"no node": {func(s tree) {
			s.Function("pci0000:00/0000:10:00.0", neuronDriver, compose.Attributes{"vendor": "0x1d0f", "device": "0x7164", "class": "0x088000"})
		}, "Unknown DeviceNodeMissing"},
		"fewer nodes than chips": {func(s tree) {
			s.neuron("7164", neuronDriver, 2)
			s.Function("pci0000:00/0000:20:00.0", neuronDriver, compose.Attributes{"vendor": "0x1d0f", "device": "0x7164", "class": "0x088000"})
		}, "Unknown DeviceNodeMissing"},
		"memory errors": {func(s tree) {
			s.neuron("7164", neuronDriver, 1)
			s.File("/sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected", "2\n")
		}, "Degraded UncorrectableMemoryErrors"},
		"memory errors of some chip": {func(s tree) {
			s.neuron("7164", neuronDriver, 2)
			s.File("/sys/devices/virtual/neuron_device/neuron1/stats/hardware/sram_ecc_uncorrected", "1\n")
		}, "Unknown UncorrectableMemoryErrors"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			test.compose(s)
			for _, d := range s.Detect(Neuron()).Devices {
				if got := strings.TrimSpace(string(d.Health.State) + " " + d.Health.Reason); got != test.want {
					t.Errorf("%s: got %s, want %s", d.ID, got, test.want)
				}
			}
		})
	}
}

// Each listed core has what its physical cores hold, and the chip's memory is counted once.
func TestNeuronMemoryOfCores(t *testing.T) {
	s := newTree(t)
	s.neuron("7364", neuronDriver, 1)
	for core := range 8 {
		s.File(fmt.Sprintf("/sys/devices/virtual/neuron_device/neuron0/neuron_core%d/stats/memory_usage/device_mem/total", core),
			fmt.Sprint(core<<30, "\n"))
	}
	found := s.Detect(Neuron())
	var sum int64
	for i, d := range found.Devices {
		sum += d.Memory.TotalMiB
		if used := *found.Readings[d.ID].MemoryUsedMiB; used != int64(4*i+1)<<10 {
			t.Errorf("%s: %d MiB are used, want %d GiB", d.ID, used, 4*i+1)
		}
	}
	if sum != 96<<10 {
		t.Errorf("all cores have %d MiB, want the chip's 96 GiB", sum)
	}
	if got, want := found.Devices[3].Memory.UsedByOthersMiB, backend.UsedInSteps(13<<10, 24<<10); got != want {
		t.Errorf("got %d MiB used, want %d", got, want)
	}
}

func TestNeuronVirtualFunctionIsAGuests(t *testing.T) {
	s := newTree(t)
	s.neuron("7164", neuronDriver, 1)
	s.Link("/sys/devices/pci0000:00/0000:10:00.0/physfn", "../0000:0f:00.0")
	if found := s.Detect(Neuron()); len(found.Devices) != 0 {
		t.Errorf("got %d devices", len(found.Devices))
	}
}

func TestNeuronAbsent(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:00:1f.0", "ena", compose.Attributes{"vendor": "0x1d0f", "device": "0xec20", "class": "0x020000"})
	if diff := cmp.Diff(backend.Found{}, s.Detect(Neuron())); diff != "" {
		t.Error(diff)
	}
}
