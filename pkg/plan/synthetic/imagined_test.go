package synthetic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

func imagined(t *testing.T, product string, devices, nodes int) []fleet.Node {
	t.Helper()
	p, err := accelerator.Find(product)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := synthetic.Imagined(p, devices, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return hosts
}

// TestEveryProductCanBeImagined builds hosts of every product of the catalogue, which the API server would take and the planner counts.
func TestEveryProductCanBeImagined(t *testing.T) {
	check := inventorySchema(t)
	for _, p := range accelerator.Products() {
		for _, devices := range []int{1, 2, 8} {
			hosts, err := synthetic.Imagined(p, devices, 2)
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			for _, n := range hosts {
				for _, problem := range check(t, n.Inventory) {
					t.Errorf("%s on %s: %v", p.Name, n.Name, problem)
				}
			}
			if free := len(fleet.NewCluster(hosts).Nodes()); free != 2 {
				t.Errorf("%s: %d nodes", p.Name, free)
			}
		}
	}
}

// TestImaginedLinks: what joins the devices of a host, in devices and MB/s.
func TestImaginedLinks(t *testing.T) {
	type domain struct {
		Kind         string
		Topology     v1alpha1.DomainTopology
		Members      int
		Device, Peer int64
	}
	for _, test := range []struct {
		product string
		devices int
		want    []domain
	}{
		{"H100", 8, []domain{{"NVLink", "Switch", 8, 450_000, 450_000}}}, // the shape of simulate
		{"H100", 4, []domain{{"NVLink", "Switch", 4, 450_000, 450_000}}},
		{"MI300X", 4, []domain{{"XGMI", "Mesh", 4, 192_000, 64_000}}},
		{"H100 NVL", 4, []domain{{"NVLink", "Switch", 2, 300_000, 300_000}, {"NVLink", "Switch", 2, 300_000, 300_000}}},
		{"TPU v5p", 4, []domain{{"ICI", "Torus", 4, 200_000, 100_000}}},
		{"TPU v5e", 8, []domain{{"ICI", "Torus", 8, 100_000, 50_000}}},
		{"GB300", 4, []domain{{"NVLink", "Switch", 4, 900_000, 900_000}}},
		{"L40S", 2, nil},
		{"V100 SXM2 32GB", 4, []domain{{"NVLink", "Mesh", 4, 150_000, 50_000}}},
		{"H100", 1, nil},
	} {
		var got []domain
		for _, d := range imagined(t, test.product, test.devices, 1)[0].Inventory.Status.Links.Domains {
			got = append(got, domain{d.Kind, d.Topology, len(d.Members), d.DeviceMBps, d.PeerMBps})
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d %s (-want +got):\n%s", test.devices, test.product, diff)
		}
	}
}

// TestImaginedRacks: the hosts of one rack are one island.
func TestImaginedRacks(t *testing.T) {
	racks := map[string]int{}
	for _, n := range imagined(t, "GB300", 4, 20) {
		racks[n.Inventory.Status.Links.Domains[0].Fabric.ClusterUUID]++
	}
	if len(racks) != 2 {
		t.Errorf("20 hosts are in racks of %v", racks)
	}
}

func TestImaginedRefuses(t *testing.T) {
	p, err := accelerator.Find("H100")
	if err != nil {
		t.Fatal(err)
	}
	for want, numbers := range map[string][2]int{"0 devices of a host": {0, 1}, "-1 hosts": {8, -1}, "100000 hosts of 8 devices": {8, 100_000}, "2000 devices of a host": {2000, 1}} {
		if _, err := synthetic.Imagined(p, numbers[0], numbers[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", numbers, err, want)
		}
	}
}
