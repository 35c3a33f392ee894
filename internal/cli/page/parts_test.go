package page

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
)

// small is a node with two devices below one switch and one elsewhere; a placement has the first, and nobody the others.
func small() *holding.State {
	device := func(address, root string, numa int32, bridges ...string) v1alpha1.Device {
		return v1alpha1.Device{
			ID: v1alpha1.DeviceID("nvidia-" + address), Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "NVIDIA H100 80GB HBM3", NUMANode: &numa,
			PCI: &v1alpha1.PCIDevice{Address: address, Root: root, Bridges: bridges}, Memory: &v1alpha1.DeviceMemory{TotalMiB: 81559},
			Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		}
	}
	inventory := v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "h100-0"}}
	inventory.Status.Devices = []v1alpha1.Device{
		device("0000:03:00.0", "pci0000:00", 0, "0000:00:01.0", "0000:01:00.0", "0000:02:00.0"),
		device("0000:04:00.0", "pci0000:00", 0, "0000:00:01.0", "0000:01:00.0", "0000:02:01.0"),
		device("0000:83:00.0", "pci0000:80", 1, "0000:80:01.0"),
	}
	inventory.Status.Links.Domains = []v1alpha1.LinkDomain{{
		Name: "nvlink", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: []v1alpha1.DeviceID{"nvidia-0000:03:00.0", "nvidia-0000:83:00.0"},
		Fabric: &v1alpha1.Fabric{ClusterUUID: "f", CliqueID: "1"},
	}}
	plan := v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama-1", ResourceVersion: "7"}}
	plan.Spec = v1alpha1.ShardingPlanSpec{
		Placement: v1alpha1.PlacementRef{Name: "llama"}, Strategy: v1alpha1.Strategy{Tensor: 1, Pipeline: 1, Data: 1, Context: 1, Replicas: 1},
		Stages: []v1alpha1.Stage{{PerDevice: v1alpha1.MemoryUse{TotalBytes: 20 << 30}}}, Nodes: []v1alpha1.PlanRow{{Node: "h100-0", Devices: []v1alpha1.DeviceID{"nvidia-0000:03:00.0"}}},
	}
	plan.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "h100-0", Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
	return &holding.State{State: fleet.State{Inventories: []v1alpha1.AcceleratorInventory{inventory}, Nodes: []corev1.Node{node}, Plans: []v1alpha1.ShardingPlan{plan}}}
}

func painted(t *testing.T, p *Painter, s *holding.State) Parts {
	t.Helper()
	parts, _, err := p.Paint(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestParts(t *testing.T) {
	parts := painted(t, &Painter{Source: Source{Kind: Cluster, Name: "https://c"}}, small())
	var node nodePart
	if err := json.Unmarshal(parts["node/h100-0"], &node); err != nil {
		t.Fatal(err)
	}
	if node.Zone != "a" || node.Fabric != "f/1" || len(node.Devices) != 3 || node.Devices[0].Condition != holding.Reserved || node.Devices[0].Seats[0].Placement != "llama" ||
		node.Devices[2].Condition != holding.Idle || node.Devices[2].FreeMiB != 81559 {
		t.Errorf("the node is %s", parts["node/h100-0"])
	}
	want := `{"devices":[` +
		`{"numa":0,"root":"pci0000:00","switch":0,"id":"nvidia-0000:03:00.0","vendor":"nvidia","product":"NVIDIA H100 80GB HBM3","totalMiB":81559},` +
		`{"numa":0,"root":"pci0000:00","switch":0,"id":"nvidia-0000:04:00.0","vendor":"nvidia","product":"NVIDIA H100 80GB HBM3","totalMiB":81559},` +
		`{"numa":1,"root":"pci0000:80","id":"nvidia-0000:83:00.0","vendor":"nvidia","product":"NVIDIA H100 80GB HBM3","totalMiB":81559}],` +
		`"domains":[{"kind":"NVLink","topology":"Switch","members":[0,2]}]}`
	if diff := cmp.Diff(want, string(parts["layout/"+node.Layout])); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
	var placement placementPart
	if err := json.Unmarshal(parts["placement/team-a/llama"], &placement); err != nil || placement.Version != "llama-1@7" || placement.Totals.Devices != 1 {
		t.Errorf("the placement is %s: %v", parts["placement/team-a/llama"], err)
	}
}

// TestUnseen shows no device as free that somebody unseen might hold, and those that plans name where inventories are not seen.
func TestUnseen(t *testing.T) {
	s := small()
	s.Unseen = []holding.Unseen{{Kind: holding.Pods}}
	var node nodePart
	if err := json.Unmarshal(painted(t, &Painter{}, s)["node/h100-0"], &node); err != nil {
		t.Fatal(err)
	}
	for _, d := range node.Devices[1:] {
		if d.Condition != holding.Unknown || d.FreeMiB != 0 {
			t.Errorf("a device is %s with %d MiB free, and pods are not seen", d.Condition, d.FreeMiB)
		}
	}
	s = small()
	s.Unseen, s.Inventories = []holding.Unseen{{Kind: holding.Inventories}}, nil
	node = nodePart{}
	if err := json.Unmarshal(painted(t, &Painter{}, s)["node/h100-0"], &node); err != nil || !node.Partial || len(node.Devices) != 1 || node.Devices[0].Condition != holding.Reserved {
		t.Errorf("the node is %+v: %v", node, err)
	}
}

// TestSameAgain makes the same parts of the same state, and of a change no more than it changed.
func TestSameAgain(t *testing.T) {
	p := &Painter{}
	first := painted(t, p, small())
	if c := painted(t, p, small()).Since(first); !c.empty() {
		t.Errorf("the same state changes %v and takes away %v", c.Set, c.Gone)
	}
	s := small()
	s.Plans = nil
	c := painted(t, p, s).Since(first)
	if len(c.Set) != 2 || len(c.Gone) != 1 || c.Gone[0] != "placement/team-a/llama" {
		t.Errorf("without the plan %d parts change and %v go", len(c.Set), c.Gone)
	}
}

// TestOutage says that what is shown is not kept up to date, and takes it back.
func TestOutage(t *testing.T) {
	p := &Painter{}
	first := painted(t, p, small())
	lost, _, err := p.Paint(small(), &Outage{Since: time.Unix(0, 0).UTC(), Why: "The API server does not answer"})
	if err != nil {
		t.Fatal(err)
	}
	if c := lost.Since(first); len(c.Set) != 1 || string(c.Set["outage"]) != `{"since":"1970-01-01T00:00:00Z","why":"The API server does not answer"}` {
		t.Errorf("an outage changes %s", c.Set)
	}
	if c := painted(t, p, small()).Since(lost); len(c.Set) != 0 || len(c.Gone) != 1 || c.Gone[0] != "outage" {
		t.Errorf("after it %v changes and %v goes", c.Set, c.Gone)
	}
	nothing, snapshot, err := p.Paint(&holding.State{}, &Outage{Why: "The API server does not answer", Awaited: "nodes"})
	if err != nil || len(nothing) != 1 || nothing["outage"] == nil || snapshot != nil {
		t.Errorf("before anything is known the page has %v, and plans on %v: %v", nothing, snapshot, err)
	}
}
