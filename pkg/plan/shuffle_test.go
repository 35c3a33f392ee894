package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func shuffle[T any](r plantest.Draws, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// reordered is the same nodes with every list of theirs in another order.
func reordered(r plantest.Draws, nodes []fleet.Node) []fleet.Node {
	other := slices.Clone(nodes)
	shuffle(r, other)
	for i := range other {
		other[i].Inventory = other[i].Inventory.DeepCopy()
		status := &other[i].Inventory.Status
		shuffle(r, status.Devices)
		shuffle(r, status.NICs)
		shuffle(r, status.Links.Domains)
		for j := range status.Links.Domains {
			shuffle(r, status.Links.Domains[j].Members)
		}
		for j := range status.Devices {
			if p := status.Devices[j].Performance; p != nil {
				shuffle(r, p.Peak)
			}
		}
	}
	return other
}

// Plans, and the answers where there is none, are the same to the byte in whatever order a cluster is listed.
func TestOrderOfAnyListDoesNotMatter(t *testing.T) {
	placed := 0
	for seed := range uint64(300) {
		r := plantest.Draw(t, seed, 99)
		nodes := r.Nodes(8)
		if half := len(nodes[0].Inventory.Status.Devices) / 2; half > 0 && r.OneIn(3) { // two link domains on a node
			domains := &nodes[0].Inventory.Status.Links.Domains
			ids := make([]v1alpha1.DeviceID, 0, 2*half)
			for _, d := range nodes[0].Inventory.Status.Devices {
				ids = append(ids, d.ID)
			}
			*domains = []v1alpha1.LinkDomain{{Name: "first", Kind: "NVLink", Members: ids[:half]}, {Name: "second", Kind: "NVLink", Members: ids[half:]}}
		}
		m := r.Model(8)
		request := shape.Request{Placement: r.Request(m, 8), Model: m}
		told := func(nodes []fleet.Node) string {
			spec, err := Plan(fleet.NewCluster(nodes), request)
			raw, marshalErr := json.Marshal([]any{spec, err})
			if marshalErr != nil {
				t.Fatal(marshalErr)
			}
			if err == nil {
				placed++
			}
			return fmt.Sprintf("%s\n%v", raw, err)
		}
		want := told(nodes)
		for range 3 {
			if diff := cmp.Diff(want, told(reordered(r, nodes))); diff != "" {
				t.Fatalf("case %d (-as listed +in another order):\n%s", seed, diff)
			}
		}
	}
	if placed < 300 {
		t.Errorf("%d of 1200 plans were found: the cases are one-sided", placed)
	}
}
