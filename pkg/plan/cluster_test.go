package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func TestDeviceRequirements(t *testing.T) {
	nodes := []fleet.Node{
		plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.Mi300x)...), plantest.Host("c", true, plantest.Many(4, plantest.V5p)...), plantest.Host("d", false, plantest.Many(2, plantest.T4)...),
	}
	nodes[1].Labels["zone"] = "z1"
	for name, test := range map[string]struct {
		require v1alpha1.DeviceRequirements
		node    string // empty: nothing matches
	}{
		"vendor":              {v1alpha1.DeviceRequirements{Vendors: []string{"amd"}}, "b"},
		"family":              {v1alpha1.DeviceRequirements{Families: []v1alpha1.DeviceFamily{v1alpha1.FamilyTPU}}, "c"},
		"two families":        {v1alpha1.DeviceRequirements{Families: []v1alpha1.DeviceFamily{v1alpha1.FamilyGPU, v1alpha1.FamilyTPU}, Products: []string{"TPU v5p"}}, "c"},
		"product":             {v1alpha1.DeviceRequirements{Products: []string{"NVIDIA H100 80GB HBM3"}}, "a"},
		"memory":              {v1alpha1.DeviceRequirements{MinMemoryMiB: plantest.Ptr(int64(100000))}, "b"},
		"native format":       {v1alpha1.DeviceRequirements{Precisions: []v1alpha1.Precision{v1alpha1.FP8}, Vendors: []string{"nvidia", "google"}}, "a"},
		"node label":          {v1alpha1.DeviceRequirements{NodeLabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"zone": "z1"}}}, "b"},
		"nothing of a family": {v1alpha1.DeviceRequirements{Families: []v1alpha1.DeviceFamily{v1alpha1.FamilyASIC}}, ""},
		"nothing of a vendor": {v1alpha1.DeviceRequirements{Vendors: []string{"acme"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(plantest.Llama(t, 8), 4096, 4, func(s *plantest.Spec) { s.Devices = &test.require })
			spec, err := Plan(fleet.NewCluster(nodes), r)
			var no *Unplaceable
			switch {
			case test.node == "":
				if !errors.As(err, &no) || no.Reason != shape.ReasonNoMatch || !strings.Contains(no.Message, "Not counted: ") {
					t.Errorf("got %v, %v", spec, err)
				}
			case err != nil:
				t.Error(err)
			case spec.Nodes[0].Node != test.node:
				t.Errorf("got node %s, want %s", spec.Nodes[0].Node, test.node)
			}
		})
	}
}

func TestTopologyLevels(t *testing.T) {
	var nodes []fleet.Node
	for i, rack := range []string{"r1", "r2", "r1", "r2", "r2", ""} {
		n := plantest.Host(fmt.Sprint("n", i), false, plantest.L40s)
		if rack != "" {
			n.Labels["rack"] = rack
		}
		nodes = append(nodes, n)
	}
	racks := func(spec *v1alpha1.ShardingPlanSpec) map[string]bool {
		seen := map[string]bool{}
		for _, row := range spec.Nodes {
			seen[nodes[row.Node[1]-'0'].Labels["rack"]] = true
		}
		return seen
	}
	level := func(required, preferred *string) func(*plantest.Spec) {
		return func(s *plantest.Spec) {
			s.Topology = &v1alpha1.TopologyRequirements{Required: required, Preferred: preferred}
		}
	}
	rack := plantest.Ptr("rack")
	small, large := ask(plantest.Llama(t, 70), 2048, 1, plantest.Format("INT8"), level(rack, nil)), ask(plantest.Llama(t, 70), 2048, 1, plantest.Format("BF16"), level(rack, nil))

	spec := mustPlan(t, fleet.NewCluster(nodes), small)
	checkPlan(t, nodes, small, spec)
	if got := racks(spec); len(got) != 1 || got[""] || spec.Totals.Devices != 2 {
		t.Errorf("required: got racks %v on %d devices", got, spec.Totals.Devices)
	}
	_, err := Plan(fleet.NewCluster(nodes), large)
	if no := (*Unplaceable)(nil); !errors.As(err, &no) || !strings.Contains(no.Message, string(shape.RefusedLevel)) {
		t.Errorf("required and too narrow: got %v", err)
	}
	wide := ask(plantest.Llama(t, 70), 2048, 1, plantest.Format("BF16"), level(nil, rack))
	if spec := mustPlan(t, fleet.NewCluster(nodes), wide); spec.Totals.Devices != 4 {
		t.Errorf("preferred and too narrow: got %d devices", spec.Totals.Devices)
	}
	narrow := ask(plantest.Llama(t, 70), 2048, 1, plantest.Format("INT8"), level(nil, rack))
	if got := racks(mustPlan(t, fleet.NewCluster(nodes), narrow)); len(got) != 1 || got[""] {
		t.Errorf("preferred: got racks %v", got)
	}
	both := ask(plantest.Llama(t, 70), 2048, 1, level(rack, rack))
	_, err = Plan(fleet.NewCluster(nodes), both)
	if bad := (*shape.InvalidRequest)(nil); !errors.As(err, &bad) {
		t.Errorf("required and preferred: got %v", err)
	}
}

// A claim can select only what a DRA driver serves: nodes that have anything else are left alone, unless no pod may get it.
func TestClaimsNeedDevicesOfADriver(t *testing.T) {
	served := func(name string, except ...int) fleet.Node {
		n := plantest.Host(name, true, plantest.Many(4, plantest.H100)...)
		for i := range n.Inventory.Status.Devices {
			if !slices.Contains(except, i) {
				n.Inventory.Status.Devices[i].ClaimAttribute = &v1alpha1.ClaimAttribute{Name: "gpu.nvidia.com/uuid"}
			}
		}
		return n
	}
	broken := served("broken", 0)
	broken.Inventory.Status.Devices[0].Health.State = v1alpha1.Unhealthy
	tests := []struct {
		name  string
		nodes []fleet.Node
		want  []string
	}{
		{"only the node that is served", []fleet.Node{served("a", 0, 1, 2, 3), served("b")}, []string{"b"}},
		{"not a node that is served in part", []fleet.Node{served("a", 3)}, nil},
		{"a broken device is no obstacle", []fleet.Node{broken}, []string{"broken"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := ask(plantest.Llama(t, 8), 8192, 16, plantest.Format("BF16"), func(s *plantest.Spec) { s.Enforcement = v1alpha1.EnforcementClaim })
			spec, err := Plan(fleet.NewCluster(test.nodes), request)
			var nodes []string
			if err == nil {
				for _, row := range spec.Nodes {
					nodes = append(nodes, row.Node)
				}
			} else if !strings.Contains(err.Error(), "4 on nodes with devices that no DRA driver serves (enforcement Claim)") {
				t.Errorf("the refusal does not say why: %v", err)
			}
			if diff := cmp.Diff(test.want, nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// The instances of a copy stay in one zone: one that has room for some of them only is left alone.
func TestInstancesOfACopyShareAZone(t *testing.T) {
	var nodes []fleet.Node
	for i, zone := range []string{"z1", "z2", "z2", "z3", "z3"} {
		n := plantest.Host(fmt.Sprint("n", i), false, plantest.L40s)
		n.Labels["zone"] = zone
		nodes = append(nodes, n)
	}
	nodes[1].Inventory.Status.Devices[0].Memory.UsedByOthersMiB = 30000
	work := func(s *plantest.Spec) {
		s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("zone")}
		s.Engine, s.Parallelism = v1alpha1.EngineTorch, &v1alpha1.Parallelism{Data: plantest.Ptr(int32(2))}
		s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 1024, GlobalBatch: 4, MicroBatch: 1}}
	}
	r := ask(plantest.Llama(t, 8), 1, 1, work)
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	checkPlan(t, nodes, r, spec)
	if spec.Strategy.Summary != "DP2" || spec.Nodes[0].Node != "n3" || spec.Nodes[1].Node != "n4" {
		t.Errorf("got %s on %v", spec.Strategy.Summary, spec.Nodes)
	}
	nodes[3].Unschedulable = true
	no := unplaceableBy(t, nodes, r)
	if !strings.Contains(no.Message, "topology.preferred instead of topology.required zone") {
		t.Errorf("got %s", no.Message)
	}
}

// A link domain that goes over nodes is one: its tensor groups may span them, and their ranks stay in order.
func TestDomainsOverNodes(t *testing.T) {
	var nodes []fleet.Node
	for i := range 4 {
		n := plantest.Host(fmt.Sprint("n", i), true, plantest.Many(4, plantest.H100)...)
		n.Inventory.Status.Links.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: "f", CliqueID: fmt.Sprint(i / 2)}
		nodes = append(nodes, n)
	}
	r := ask(plantest.Llama(t, 70), 65536, 8, plantest.Format("BF16"))
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	if spec.Strategy.Summary != "TP8" || len(spec.Nodes) != 2 || spec.Nodes[0].Node != "n0" || spec.Nodes[1].Node != "n1" || spec.Nodes[1].TensorRank != 4 {
		t.Errorf("got %s: %+v", spec.Strategy.Summary, spec.Nodes)
	}
	r.Placement.Spec.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("kubernetes.io/hostname")}
	if spec, err := Plan(fleet.NewCluster(nodes), r); err == nil {
		t.Errorf("one node was asked for, got %+v", spec.Nodes)
	}
}

// A plan over two fast islands of one host never puts a tensor group across them.
func TestTensorGroupsStayInTheirDomain(t *testing.T) {
	n := plantest.Host("a", false, plantest.Times8(plantest.H100)...)
	ids := make([]v1alpha1.DeviceID, 8)
	for i := range ids {
		ids[i] = n.Inventory.Status.Devices[i].ID
	}
	n.Inventory.Status.Links.Domains = []v1alpha1.LinkDomain{{Name: "x", Members: ids[:2]}, {Name: "y", Members: ids[2:4]}}
	nodes := []fleet.Node{n}
	r := ask(plantest.Llama(t, 70), 8192, 8, plantest.Format("BF16"))
	spec := mustPlan(t, fleet.NewCluster(nodes), r)
	checkPlan(t, nodes, r, spec)
	if spec.Strategy.Summary != "TP4" || spec.Nodes[0].Devices[0] != ids[4] {
		t.Errorf("got %s on %v", spec.Strategy.Summary, spec.Nodes)
	}
}

func TestTakeMarksDevices(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...)}
	c := fleet.NewCluster(nodes)
	r := ask(plantest.Llama(t, 8), 8192, 16)
	first := mustPlan(t, c, r)
	c.Take(first.Placement.Name, first)
	second := mustPlan(t, c, r)
	if first.Nodes[0].Devices[0] == second.Nodes[0].Devices[0] {
		t.Errorf("%s is given twice", first.Nodes[0].Devices[0])
	}
	c.Take(second.Placement.Name, second)
	_, err := Plan(c, r)
	if no := (*Unplaceable)(nil); !errors.As(err, &no) || no.Reason != shape.ReasonNoneFree || !strings.Contains(no.Message, "2 taken by other plans") {
		t.Errorf("got %v", err)
	}
}
