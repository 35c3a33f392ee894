package figures

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

var rankDesc = desc("rank_info", "Always 1; the labels say which device of which node is which rank of which copy of a placement, and in role its coordinates along the dimensions above 1 (tp3 pp1).",
	"namespace", "placement", "plan", "replica", "rank", "node", "device", "role")

// tellRanks tells the ranks of all plans that are in force. Those share no device, so that a device has one rank.
func tellRanks(meshes []v1alpha1.DeviceMesh, plans []v1alpha1.ShardingPlan, to chan<- prometheus.Metric) {
	active := map[types.NamespacedName]bool{}
	for i := range plans {
		if plans[i].Active() {
			active[types.NamespacedName{Namespace: plans[i].Namespace, Name: plans[i].Name}] = true
		}
	}
	for i := range meshes {
		m := &meshes[i]
		if !active[types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.Plan}] {
			continue
		}
		// The operator makes no mesh that cannot be read; what others wrote has no ranks.
		copies, err := mesh.Copies(&m.Spec, nil)
		if err != nil {
			continue
		}
		for k := range copies {
			for rank, seat := range copies[k].Seats() {
				gauge(to, rankDesc, 1, m.Namespace, m.Spec.Placement.Name, m.Spec.Plan, strconv.Itoa(int(copies[k].Replica)), strconv.Itoa(rank),
					seat.Node, string(seat.Device), roleOf(copies[k].Mesh, rank))
			}
		}
	}
}

// roleOf returns the coordinates of a rank along the dimensions that have more than one.
func roleOf(m *mesh.Mesh, rank int) string {
	at, err := m.Coordinates(rank)
	if err != nil {
		return ""
	}
	var parts []string
	for _, d := range m.Dimensions() {
		if d.Size > 1 {
			parts = append(parts, fmt.Sprintf("%s%d", d.Name, at[d.Name]))
		}
	}
	return strings.Join(parts, " ")
}
