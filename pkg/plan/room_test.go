package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// crowd is nodes of eight devices and so many CPUs each, of which strangers ask for some.
func crowd(cpus, taken []int64) (*fleet.Snapshot, *fleet.Usage) {
	var now fleet.State
	usage := &fleet.Usage{}
	for i := range cpus {
		host := plantest.Host(fmt.Sprintf("node-%d", i), true, plantest.Times8(plantest.H100)...)
		host.Inventory.Name = host.Name
		now.Inventories = append(now.Inventories, *host.Inventory)
		now.Nodes = append(now.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host.Name}, Status: corev1.NodeStatus{Allocatable: cpu(cpus[i], 110)}})
		pod := asking(taken[i])
		pod.UID, pod.Spec.NodeName = types.UID(host.Name), host.Name
		usage.Set(pod)
	}
	return fleet.NewSnapshot(now), usage
}

func cpu(n, pods int64) corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(n, resource.DecimalSI)}
	if pods > 0 {
		list[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
	}
	return list
}

func asking(cpus int64) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu(cpus, 0)}}}}}
}

// What is planned can be scheduled: no plan puts more pods on a node than what it has free serves, and the refusal says what is free.
func TestPlansKeepOffNodesWithoutRoom(t *testing.T) {
	for name, c := range map[string]struct {
		cpus, taken []int64
		asks        int64
		want        []string
		no          string
	}{
		"a full node is left out":            {[]int64{64, 64}, []int64{40, 0}, 32, []string{"node-1"}, ""},
		"what fits exactly fits":             {[]int64{64, 64}, []int64{32, 64}, 32, []string{"node-0"}, ""},
		"no node has room":                   {[]int64{64, 64}, []int64{52, 60}, 32, nil, "2 of 2 nodes have not the 32 CPU that each pod asks for (nearest: node-0 with 12 CPU free)"},
		"a node without a word has no limit": {[]int64{0}, []int64{0}, 32, []string{"node-0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now, usage := crowd(c.cpus, c.taken)
			if c.cpus[0] == 0 {
				now.Host("node-0").Allocatable = nil
			}
			request := shape.Request{Placement: plantest.Placement(8192, 16), Model: plantest.Llama(t, 8), Room: now.Room("models/chat", fleet.RequestsOf(asking(c.asks)), usage)}
			made, err := Within(t.Context(), now.Cluster("", nil, nil), request)
			if no := (*Unplaceable)(nil); c.no != "" && (!errors.As(err, &no) || !strings.Contains(no.Message, c.no) || no.Reason != shape.ReasonNoneFree) {
				t.Errorf("%v; want %q", err, c.no)
			}
			if c.no == "" && (err != nil || !slices.Equal(made.NodeNames(), c.want)) {
				t.Errorf("plan %+v, %v; want it on %s", made, err, c.want)
			}
		})
	}
}

// Copies on one node are pods of their own, and so are parts of a copy where a pod gets few devices: each takes its room.
func TestPlansPutNoMorePodsOnANodeThanFit(t *testing.T) {
	for seed := range uint64(60) {
		r := plantest.Draw(t, seed, 14)
		n := 1 + r.IntN(12)
		cpus, taken := make([]int64, n), make([]int64, n)
		for i := range cpus {
			cpus[i] = 64
			taken[i] = int64(r.IntN(65))
		}
		asks := 1 + int64(r.IntN(32))
		now, usage := crowd(cpus, taken)
		placement := plantest.Placement(8192, 16, plantest.Replicas(int32(1+r.IntN(12))))
		if r.OneIn(2) {
			one := int32(1)
			placement.Spec.Launch = &v1alpha1.Launch{DevicesPerPod: &one}
		}
		request := shape.Request{Placement: placement, Model: plantest.Llama(t, 8), Room: now.Room("models/chat", fleet.RequestsOf(asking(asks)), usage)}
		made, err := Within(t.Context(), now.Cluster("", nil, nil), request)
		if no := (*Unplaceable)(nil); err != nil && !errors.As(err, &no) {
			t.Fatal(err)
		}
		for i := range cpus {
			pods := map[int32]int64{}
			for row := 0; made != nil && row < len(made.Nodes); row++ {
				at := &made.Nodes[row]
				if at.Node != fmt.Sprintf("node-%d", i) {
					continue
				}
				if placement.Spec.Launch != nil {
					pods[at.Replica] += int64(len(at.Devices))
				} else {
					pods[at.Replica] = 1
				}
			}
			sum := int64(0)
			for _, count := range pods {
				sum += count * asks
			}
			if free := cpus[i] - taken[i]; sum > free {
				t.Errorf("seed %d: pods on node-%d ask for %d CPU, and %d are free", seed, i, sum, free)
			}
		}
	}
}
