package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func TestHostRows(t *testing.T) {
	status := &v1alpha1.AcceleratorInventoryStatus{
		Host: v1alpha1.Host{
			CPU: v1alpha1.CPU{Threads: 1}, OS: "Alpine Linux v3.22", Kernel: "6.8.0",
			Cloud: "aws", InstanceType: "p5.48xlarge", Container: "containerd", Kubernetes: true,
		},
		Storage: []v1alpha1.StorageDevice{
			{Name: "nvme0n1", Kind: "NVMe", SizeMiB: 1 << 20}, {Name: "sda", Kind: "HDD", SizeMiB: 512}, {Name: "nvme1n1", Kind: "NVMe", SizeMiB: 1 << 20},
		},
		Summary:  v1alpha1.InventorySummary{Devices: 1},
		Backends: []v1alpha1.BackendStatus{{Name: "amd", State: v1alpha1.BackendAbsent}, {Name: "cpu", State: v1alpha1.BackendFound}},
	}
	want := [][2]string{
		{"Host", "a"},
		{"CPU", "1 thread"},
		{"Devices", "1, 0 healthy"},
		{"System", "Alpine Linux v3.22 6.8.0"},
		{"Cloud", "aws p5.48xlarge"},
		{"Container", "containerd, in a pod"},
		{"Storage", "1 HDD of 512 MiB, 2 NVMe of 2.0 TiB"},
		{"Backends", "cpu Found, 1 found nothing"},
	}
	if diff := cmp.Diff(want, hostRows("a", status, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:3], hostRows("a", status, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// partitioned are devices of 8 partitions each, all in one domain.
func partitioned(devices int) *v1alpha1.AcceleratorInventoryStatus {
	status := &v1alpha1.AcceleratorInventoryStatus{Links: v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{Kind: "XGMI", Topology: v1alpha1.TopologyMesh}}}}
	for n := range devices * 8 {
		parent := v1alpha1.DeviceID(fmt.Sprintf("amd-0000:%02x:00.0", n/8))
		id := v1alpha1.DeviceID(fmt.Sprintf("%s-xcp%d", parent, n%8))
		status.Devices = append(status.Devices, v1alpha1.Device{ID: id, Partition: &v1alpha1.DevicePartition{Kind: "CPX", Parent: parent}})
		status.Links.Domains[0].Members = append(status.Links.Domains[0].Members, id)
	}
	return status
}

func TestLinksOfManyDevicesStayInALine(t *testing.T) {
	single := &v1alpha1.AcceleratorInventoryStatus{Links: v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{Kind: "ICI", Topology: v1alpha1.TopologyTorus, Shape: []int32{8, 8}}}}}
	for n := range 64 {
		id := v1alpha1.DeviceID(fmt.Sprintf("google-0000:%02x:00.0", n))
		single.Devices = append(single.Devices, v1alpha1.Device{ID: id})
		single.Links.Domains[0].Members = append(single.Links.Domains[0].Members, id)
	}
	tests := map[string]struct {
		status *v1alpha1.AcceleratorInventoryStatus
		want   string
	}{
		"partitions": {partitioned(8), "XGMI   mesh       -            64 partitions of amd-0000:{00,01,02,03,04,05,06,07}:00.0"},
		"of one":     {partitioned(1), "XGMI   mesh       -            amd-0000:00:00.0-{xcp0,xcp1,xcp2,xcp3,xcp4,xcp5,xcp6,xcp7}"},
		"devices":    {single, "ICI    torus 8x8   -            google-0000:{00,01,02,03,"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out term.Page
			printLinks(&out, test.status)
			for line := range strings.Lines(out.String()) {
				if len(line) > 125 {
					t.Errorf("%d bytes: %s", len(line), line)
				}
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("%s, want %q", out.String(), test.want)
			}
		})
	}
}

func TestLongProductsAreShortenedInTheTable(t *testing.T) {
	tests := map[string]struct {
		product, driver, want string
	}{
		"fits":          {"NVIDIA H100 80GB HBM3", "nvidia 580.105.08", "NVIDIA H100 80GB HBM3"},
		"a little":      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "nvidia 580.105.08", "NVIDIA RTX PRO 6000 Blackwell Server E…"},
		"no more to go": {"NVIDIA RTX PRO 6000 Blackwell Server Edition", strings.Repeat("d", 90), "NVIDIA RTX PRO 6000 Bla…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rows := [][]string{{"nvidia-0000:1b:00.0", test.product, "95.6 GiB", "95.6 GiB", "0", test.driver, "Healthy"}}
			header, _ := deviceTable(nil, false)
			narrow(header, rows)
			if got := rows[0][1]; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
