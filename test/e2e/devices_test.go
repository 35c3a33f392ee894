//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/e2e/probe/report"
)

// served are the resources of the nodes, in their order, with how many devices each has.
var served = []struct {
	resource string
	count    int64
}{
	{"rankwright.dev/nvidia-gpu", 8},
	{"rankwright.dev/amd-gpu", 8},
	{"rankwright.dev/google-tpu", 4},
}

// A pod that asks for devices gets so many: the devices that it holds by the inventory can be opened in its container, and
// no others.
func TestPodsGetExactlyTheirDevices(t *testing.T) {
	s := on(t)
	s.install(t)
	for i, of := range served {
		node := s.Nodes[i].Name
		s.awaitNode(t, node, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
		for _, count := range []int64{1, 2, of.count - 3} {
			t.Run(fmt.Sprintf("%d of %s", count, of.resource), func(t *testing.T) {
				pod := s.create(t, probePod("asks-"+strconv.FormatInt(count, 10), "hold", asking(of.resource, count)))
				pod = s.mustBe(t, pod, running)
				if pod.Spec.NodeName != node {
					t.Fatalf("it runs on %s, not on %s", pod.Spec.NodeName, node)
				}
				inventory := s.awaitInventory(t, node, func(i *v1alpha1.AcceleratorInventory) bool { return int64(len(heldBy(i, pod))) == count })
				checkSight(t, inventory, heldBy(inventory, pod), s.see(t, pod))
			})
		}
	}
}

// checkSight compares what a container sees with the devices that it holds: each of their nodes, and none of another
// device's.
func checkSight(t *testing.T, inventory *v1alpha1.AcceleratorInventory, held []v1alpha1.DeviceID, sight report.Sight) {
	t.Helper()
	var want, got []string
	known := map[string]bool{}
	shared := map[string]int{}
	for i := range inventory.Status.Devices {
		for _, path := range inventory.Status.Devices[i].Paths {
			shared[path]++
		}
	}
	for i := range inventory.Status.Devices {
		device := &inventory.Status.Devices[i]
		for _, path := range device.Paths {
			if shared[path] > 1 {
				continue
			}
			known[path] = true
			if slices.Contains(held, device.ID) {
				want = append(want, path)
			}
		}
	}
	for _, device := range sight.Devices {
		if known[device.Path] && device.Opens {
			got = append(got, device.Path)
		} else if known[device.Path] {
			t.Errorf("%s cannot be opened", device.Path)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("devices of %v (-held +seen):\n%s", held, diff)
	}
	if len(want) == 0 {
		t.Error("none of the held devices has a node of its own")
	}
}

// Pods that come and go at random, some deleted before they run, leave no device behind.
func TestRandomPodsLeakNothing(t *testing.T) {
	s := on(t)
	s.install(t)
	for i, of := range served {
		s.awaitNode(t, s.Nodes[i].Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	}
	total := 500
	if text := os.Getenv("RANKWRIGHT_E2E_PODS"); text != "" {
		var err error
		if total, err = strconv.Atoi(text); err != nil {
			t.Fatalf("$RANKWRIGHT_E2E_PODS: %v", err)
		}
	}
	var next, ran atomic.Int64
	var workers sync.WaitGroup
	for worker := range 12 {
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		workers.Go(func() {
			for number := next.Add(1); number <= int64(total); number = next.Add(1) {
				if number%100 == 0 {
					step("pod %d of %d", number, total)
				}
				if s.passBy(t, number, random) {
					ran.Add(1)
				}
			}
		})
	}
	workers.Wait()
	step("%d pods, of which %d ran", total, ran.Load())
	if ran.Load() == 0 {
		t.Fatal("no pod ran")
	}
	for i, of := range served {
		s.awaitInventory(t, s.Nodes[i].Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Allocations) == 0 })
		pod := s.create(t, probePod("takes-all-"+strconv.Itoa(i), "hold", asking(of.resource, of.count)))
		s.mustBe(t, pod, running)
	}
}

// passBy creates a pod that asks for some devices and deletes it, at once or when it runs, and says whether it ran.
func (s *site) passBy(t *testing.T, number int64, random *rand.Rand) (ran bool) {
	of := served[random.IntN(len(served))]
	command := []string{"hold", "show"}[random.IntN(2)]
	pod := probePod(fmt.Sprintf("random-%d", number), command, asking(of.resource, 1+random.Int64N(of.count/2)))
	if _, err := s.clients.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Errorf("pod %s: %v", pod.Name, err)
		return false
	}
	defer s.remove(t, pod.Namespace, pod.Name)
	if random.IntN(3) == 0 {
		return false
	}
	if last, err := s.awaitPod(t.Context(), pod.Namespace, pod.Name, started); err != nil {
		if last == nil || last.Spec.NodeName != "" { // else the others may always have been faster
			t.Errorf("pod %s: %v", pod.Name, err)
		}
		return false
	}
	return true
}

// A device that is shared is offered as often as the values say, and its pods see it whole.
func TestSharedDevices(t *testing.T) {
	s := on(t)
	s.install(t, "vendors.google.shares=2")
	node, of := s.Nodes[2], served[2]
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == 2*of.count })
	for _, name := range []string{"shares-a", "shares-b"} {
		pod := s.mustBe(t, s.create(t, probePod(name, "hold", at(node.Name), asking(of.resource, of.count))), running)
		inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return int64(len(heldBy(i, pod))) == of.count })
		checkSight(t, inventory, heldBy(inventory, pod), s.see(t, pod))
	}
	inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return int64(len(i.Status.Allocations)) == 2*of.count })
	holders := map[v1alpha1.DeviceID]int{}
	for _, a := range inventory.Status.Allocations {
		holders[a.Device]++
	}
	for device, pods := range holders {
		if pods != 2 {
			t.Errorf("%s is held by %d pods, not by both", device, pods)
		}
	}
}
