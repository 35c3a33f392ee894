package place_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestGroupsOverNodes: on a fabric over nodes that are occupied in part, tensor groups go where they lie on one node or, where none has room, on the
// fewest; nodes with more room than they need stay whole.
func TestGroupsOverNodes(t *testing.T) {
	var nodes []fleet.Node
	for i, free := range []int{1, 3, 4, 2, 4} {
		n := plantest.Host(fmt.Sprint("n", i), true, plantest.Many(4, plantest.H100)...)
		n.Inventory.Status.Links.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: "f"}
		n.Taken = map[v1alpha1.DeviceID]string{}
		for _, d := range n.Inventory.Status.Devices[free:] {
			n.Taken[d.ID] = "models/other"
		}
		nodes = append(nodes, n)
	}
	for _, c := range []struct {
		tensor, stages, copies int32
		want                   string // nodes and how many devices are taken of each
	}{
		{2, 1, 1, "n3:2"},
		{2, 1, 2, "n1:2 n3:2"},
		{4, 1, 1, "n2:4"},
		{4, 2, 1, "n2:4 n4:4"},
		{4, 1, 3, "n1:3 n2:4 n3:1 n4:4"},
		{8, 1, 1, "n2:4 n4:4"},
	} {
		r := shape.Request{Model: plantest.Llama(t, 8), Placement: plantest.Placement(1024, 4, plantest.Format("BF16"), plantest.Replicas(c.copies),
			plantest.Parallelism(v1alpha1.Parallelism{Tensor: &c.tensor, Pipeline: &c.stages}))}
		planned, err := plan.Within(context.Background(), fleet.NewCluster(nodes), r)
		if err != nil {
			t.Fatal(err)
		}
		taken := map[string]int{}
		for _, row := range planned.Nodes {
			taken[row.Node] += len(row.Devices)
		}
		var got []string
		for _, node := range slices.Sorted(maps.Keys(taken)) {
			got = append(got, fmt.Sprintf("%s:%d", node, taken[node]))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%d copies of %d stages of %d: %s, want %s", c.copies, c.stages, c.tensor, got, c.want)
		}
	}
}
