package fleet

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func asker(uid, node, placement, cpu string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Namespace: "models"}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			"cpu": resource.MustParse(cpu), "memory": resource.MustParse("1Gi"), "nvidia.com/gpu": resource.MustParse("1"),
		}},
	}}}}
	if placement != "" {
		pod.Labels = map[string]string{v1alpha1.LabelPlacement: placement}
	}
	return pod
}

// Sums follow pods that come, are resized, end and go; a placement's own pods leave their room to it.
func TestUsageFollowsPods(t *testing.T) {
	var u Usage
	node := &Host{NodeFacts: NodeFacts{Name: "a", Allocatable: AmountsOf(corev1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("10")})}}
	check := func(when, placement string, cpu, pods int64) {
		t.Helper()
		free := u.free(node, placement, node.Allocatable)
		if free.of("cpu") != cpu || free.of("pods") != pods {
			t.Errorf("%s: free %v; want %d and %d", when, free, cpu, pods)
		}
	}
	u.Set(asker("1", "a", "", "1500m"))
	u.Set(Trimmed(asker("2", "a", "chat", "2")))
	u.Set(asker("3", "", "", "2"))
	check("two pods on the node", "", 4500, 8)
	check("for the placement", "models/chat", 6500, 9)
	if freed := u.Set(asker("1", "a", "", "500m")); !freed {
		t.Error("a smaller pod frees room")
	}
	check("resized", "", 5500, 8)
	if freed := u.Set(asker("1", "a", "", "1")); freed {
		t.Error("a larger pod frees no room")
	}
	ended := asker("1", "a", "", "1")
	ended.Status.Phase = corev1.PodSucceeded
	if freed := u.Set(ended); !freed {
		t.Error("a pod that ended frees room")
	}
	if freed := u.Remove("2") && !u.Remove("2"); !freed {
		t.Error("a pod that is gone frees room, once")
	}
	check("all gone", "", 8000, 10)
	if len(u.nodes) != 0 || len(u.pods) != 0 {
		t.Errorf("left %v %v", u.nodes, u.pods)
	}
}

// What a pod costs: bytes kept for good, and the time to count it. A question costs by nodes and not by pods.
func BenchmarkUsage(b *testing.B) {
	for _, nodes := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			var before, after runtime.MemStats
			hosts := map[string]*Host{}
			for i := range nodes {
				name := fmt.Sprintf("node-%d", i)
				hosts[name] = &Host{NodeFacts: NodeFacts{Name: name, Allocatable: AmountsOf(corev1.ResourceList{"cpu": resource.MustParse("128"), "memory": resource.MustParse("1Ti"), "pods": resource.MustParse("110")})}, Exists: true, Inventory: &v1alpha1.AcceleratorInventory{}}
				hosts[name].Inventory.Status.Devices = make([]v1alpha1.Device, 8)
			}
			const each = 30
			var u Usage
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range nodes * each {
				u.Set(Trimmed(asker(fmt.Sprintf("%036d", i), fmt.Sprintf("node-%d", i%nodes), "", "500m")))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			s := &Snapshot{hosts: hosts}
			asks := RequestsOf(asker("", "", "", "120"))
			for b.Loop() {
				s.Room("models/chat", asks, &u)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(nodes*each), "B/pod")
			runtime.KeepAlive(&u)
		})
	}
}
