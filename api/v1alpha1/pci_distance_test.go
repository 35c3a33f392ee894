package v1alpha1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// at is a function by its way from the host bridge, as sysfs has it: `pci0000:15/0000:15:01.0/0000:16:00.0`.
func at(way string) *v1alpha1.PCIDevice {
	if way == "" {
		return nil
	}
	steps := strings.Split(way, "/")
	return &v1alpha1.PCIDevice{Root: steps[0], Bridges: steps[1 : len(steps)-1], Address: steps[len(steps)-1]}
}

func node(n int32) *int32 {
	if n < 0 {
		return nil
	}
	return &n
}

func TestRelationOf(t *testing.T) {
	const (
		onSwitch      = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0"
		sameSwitch    = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0"
		secondPort    = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.1"
		nestedSwitch  = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0/0000:1b:00.0/0000:1c:00.0"
		otherNested   = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:03.0/0000:1d:00.0/0000:1e:00.0/0000:1f:00.0"
		otherPort     = "pci0000:15/0000:15:02.0/0000:20:00.0"
		onRoot        = "pci0000:15/0000:15:05.0"
		onRootSame    = "pci0000:15/0000:15:05.1"
		onRootOther   = "pci0000:15/0000:15:06.0"
		otherRoot     = "pci0000:37/0000:37:01.0/0000:38:00.0"
		belowVolume   = "pci0000:e0/0000:e0:00.5/10000:e0:02.0/10000:e1:00.0"
		belowVolume2  = "pci0000:e0/0000:e0:00.5/10000:e0:03.0/10000:e2:00.0"
		inGuest       = "pci0001:00/0001:00:00.0"
		inGuestOther  = "pci0002:00/0002:00:00.0"
		withoutBridge = "/0000:01:00.0"
	)
	tests := map[string]struct {
		a, b         string
		numaA, numaB int32
		want         v1alpha1.PCIRelation
	}{
		"one function":                            {onSwitch, onSwitch, 0, 0, v1alpha1.SameDevice},
		"two ports of a switch":                   {onSwitch, sameSwitch, 0, 0, v1alpha1.SameSwitch},
		"two functions of a card":                 {sameSwitch, secondPort, 0, 0, v1alpha1.SameSwitch},
		"two functions of a card on the root":     {onRoot, onRootSame, 0, 0, v1alpha1.SameSwitch},
		"a switch behind a switch":                {onSwitch, nestedSwitch, 0, 0, v1alpha1.ManySwitches},
		"two switches behind a switch":            {nestedSwitch, otherNested, 0, 0, v1alpha1.ManySwitches},
		"two root ports":                          {onSwitch, otherPort, 0, 0, v1alpha1.SameRoot},
		"two devices on the root":                 {onRoot, onRootOther, 0, 0, v1alpha1.SameRoot},
		"the same root whatever the node":         {onRoot, onRootOther, -1, -1, v1alpha1.SameRoot},
		"two root ports of a volume manager":      {belowVolume, belowVolume2, 0, 0, v1alpha1.SameRoot},
		"two host bridges of a node":              {onSwitch, otherRoot, 1, 1, v1alpha1.SameNUMA},
		"two nodes":                               {onSwitch, otherRoot, 0, 1, v1alpha1.Across},
		"two host bridges and no node":            {onSwitch, otherRoot, -1, -1, v1alpha1.UnknownRelation},
		"two host bridges and a node of one":      {onSwitch, otherRoot, 0, -1, v1alpha1.UnknownRelation},
		"a guest with a domain for each device":   {inGuest, inGuestOther, 0, 0, v1alpha1.SameNUMA},
		"not on PCI, one node":                    {"", "", 0, 0, v1alpha1.SameNUMA},
		"not on PCI, two nodes":                   {"", onSwitch, 0, 1, v1alpha1.Across},
		"not on PCI":                              {"", onSwitch, -1, 0, v1alpha1.UnknownRelation},
		"host bridges that the kernel hides":      {withoutBridge, strings.Replace(withoutBridge, "01", "02", 1), -1, -1, v1alpha1.UnknownRelation},
		"hidden host bridges, and the node known": {withoutBridge, strings.Replace(withoutBridge, "01", "02", 1), 0, 0, v1alpha1.SameNUMA},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, b, numaA, numaB := at(test.a), at(test.b), node(test.numaA), node(test.numaB)
			if got := v1alpha1.RelationOf(a, b, numaA, numaB); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if got := v1alpha1.RelationOf(b, a, numaB, numaA); got != test.want {
				t.Errorf("the other way round: %q, want %q", got, test.want)
			}
		})
	}
}

func TestRelationOfNonsense(t *testing.T) {
	got := v1alpha1.RelationOf(&v1alpha1.PCIDevice{Root: "pci"}, &v1alpha1.PCIDevice{Root: "pci", Address: "x", Bridges: []string{""}}, nil, nil)
	if got != v1alpha1.SameRoot {
		t.Errorf("%q", got)
	}
}

func TestRelationsAreOrdered(t *testing.T) {
	want := []v1alpha1.PCIRelation{
		v1alpha1.SameDevice, v1alpha1.SameSwitch, v1alpha1.ManySwitches, v1alpha1.SameRoot, v1alpha1.SameNUMA, v1alpha1.Across, v1alpha1.UnknownRelation,
	}
	nearer := func(a, b v1alpha1.PCIRelation) int { return a.Distance() - b.Distance() }
	if !slices.IsSortedFunc(want, nearer) || v1alpha1.SameDevice.Distance() == v1alpha1.SameSwitch.Distance() {
		t.Error("the relations are not in order of distance")
	}
	if other := v1alpha1.PCIRelation("NV18"); other.Distance() != v1alpha1.UnknownRelation.Distance() {
		t.Errorf("%s has distance %d", other, other.Distance())
	}
}

func TestRelation(t *testing.T) {
	status := func(host v1alpha1.Host) *v1alpha1.AcceleratorInventoryStatus {
		return &v1alpha1.AcceleratorInventoryStatus{
			Host: host,
			Devices: []v1alpha1.Device{
				{ID: "a", PCI: at("pci0000:00/0000:00:01.0/0000:01:00.0"), NUMANode: node(0)},
				{ID: "a-0", PCI: at("pci0000:00/0000:00:01.0/0000:01:00.0"), NUMANode: node(0)},
				{ID: "b", PCI: at("pci0000:40/0000:40:01.0/0000:41:00.0"), NUMANode: node(1)},
				{ID: "c"},
				{ID: "d"},
			},
			NICs: []v1alpha1.NIC{
				{Name: "mlx5_0/1", PCI: at("pci0000:40/0000:40:02.0/0000:42:00.0"), NUMANode: node(1)},
				{Name: "mlx5_0/2", PCI: at("pci0000:40/0000:40:02.0/0000:42:00.0"), NUMANode: node(1)},
				{Name: "eth0"},
			},
		}
	}
	two := status(v1alpha1.Host{NUMANodes: []v1alpha1.NUMANode{{ID: 0}, {ID: 1}}})
	oneNode := status(v1alpha1.Host{NUMANodes: []v1alpha1.NUMANode{{ID: 0}}})
	oneSocket := status(v1alpha1.Host{CPU: v1alpha1.CPU{Sockets: 1}})
	tests := map[string]struct{ got, want v1alpha1.PCIRelation }{
		"a device and itself":               {two.Relation("c", "c"), v1alpha1.SameDevice},
		"partitions of a device":            {two.Relation("a", "a-0"), v1alpha1.SameDevice},
		"two nodes":                         {two.Relation("a", "b"), v1alpha1.Across},
		"nothing known":                     {two.Relation("c", "d"), v1alpha1.UnknownRelation},
		"not listed":                        {two.Relation("a", "z"), v1alpha1.UnknownRelation},
		"neither listed":                    {two.Relation("z", "z"), v1alpha1.UnknownRelation},
		"only one node":                     {oneNode.Relation("c", "d"), v1alpha1.SameNUMA},
		"a kernel without NUMA":             {oneSocket.Relation("a", "c"), v1alpha1.SameNUMA},
		"a device and a port":               {two.NICRelation("b", "mlx5_0/2"), v1alpha1.SameRoot},
		"a device and a port elsewhere":     {two.NICRelation("a", "mlx5_0/1"), v1alpha1.Across},
		"a port that is not listed":         {two.NICRelation("a", "eth9"), v1alpha1.UnknownRelation},
		"two ports of a function":           {two.NICPairRelation("mlx5_0/1", "mlx5_0/2"), v1alpha1.SameDevice},
		"two ports, nothing known of one":   {two.NICPairRelation("mlx5_0/1", "eth0"), v1alpha1.UnknownRelation},
		"a port and itself":                 {two.NICPairRelation("eth0", "eth0"), v1alpha1.SameDevice},
		"a port and a device with its name": {oneNode.NICRelation("c", "eth0"), v1alpha1.SameNUMA},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
}

func TestLinkMBps(t *testing.T) {
	tests := []struct {
		mtps, width int32
		want        int64
	}{
		{2500, 1, 250},
		{5000, 16, 8000},
		{8000, 16, 15753},
		{16000, 16, 31507},
		{32000, 16, 63015},
		{64000, 16, 121000},
		{0, 16, 0},
		{32000, 0, 0},
		{-1, 16, 0},
		{1 << 30, 64, 1 << 30 * 64 / 8 * 242 / 256},
	}
	for _, test := range tests {
		p := &v1alpha1.PCIDevice{LinkMTps: test.mtps, LinkWidth: test.width}
		if got := p.LinkMBps(); got != test.want {
			t.Errorf("%d MT/s x%d: %d MB/s, want %d", test.mtps, test.width, got, test.want)
		}
	}
	if got := (*v1alpha1.PCIDevice)(nil).LinkMBps(); got != 0 {
		t.Errorf("no PCI: %d MB/s", got)
	}
}

// Three GPUs and three adapters of a DGX A100. The matrix is what nvidia-smi printed on such a machine (rapidsai/ucx-py, issue
// 749). Which switch is behind which follows an NCCL topology of one (NVIDIA/nccl, issue 1505); the second adapter's place, the
// second tree and the ports between are made up alike.
func TestRelationOfPublishedMatrix(t *testing.T) {
	const first, second = "pci0000:00/0000:00:01.1/0000:01:00.0", "pci0000:40/0000:40:01.1/0000:41:00.0"
	status := &v1alpha1.AcceleratorInventoryStatus{
		Devices: []v1alpha1.Device{
			{ID: "gpu0", NUMANode: node(3), PCI: at(first + "/0000:02:00.0/0000:04:00.0/0000:05:00.0/0000:07:00.0")},
			{ID: "gpu1", NUMANode: node(3), PCI: at(first + "/0000:02:04.0/0000:0a:00.0/0000:0b:04.0/0000:0d:00.0/0000:0e:00.0/0000:0f:00.0")},
			{ID: "gpu2", NUMANode: node(1), PCI: at(second + "/0000:42:00.0/0000:44:00.0/0000:45:00.0/0000:47:00.0")},
		},
		NICs: []v1alpha1.NIC{
			{Name: "mlx5_0", NUMANode: node(3), PCI: at(first + "/0000:02:04.0/0000:0a:00.0/0000:0b:00.0/0000:0c:00.0")},
			{Name: "mlx5_1", NUMANode: node(3), PCI: at(first + "/0000:02:0c.0/0000:10:00.0/0000:11:00.0/0000:12:00.0")},
			{Name: "mlx5_2", NUMANode: node(1), PCI: at(second + "/0000:42:08.0/0000:4a:00.0/0000:4b:00.0")},
		},
	}
	devices := map[v1alpha1.DeviceID]string{"gpu0": "X PXB SYS", "gpu1": "PXB X SYS", "gpu2": "SYS SYS X"}
	nics := map[v1alpha1.DeviceID]string{"gpu0": "PXB PXB SYS", "gpu1": "PXB PXB SYS", "gpu2": "SYS SYS PXB"}
	for i := range status.Devices {
		id := status.Devices[i].ID
		var toDevices, toNICs []string
		for j := range 3 {
			toDevices = append(toDevices, string(status.Relation(id, status.Devices[j].ID)))
			toNICs = append(toNICs, string(status.NICRelation(id, status.NICs[j].Name)))
		}
		if got := strings.Join(toDevices, " "); got != devices[id] {
			t.Errorf("%s to the GPUs: %s, want %s", id, got, devices[id])
		}
		if got := strings.Join(toNICs, " "); got != nics[id] {
			t.Errorf("%s to the adapters: %s, want %s", id, got, nics[id])
		}
	}
}
