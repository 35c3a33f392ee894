//go:build linux

package serving_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const restarts = 20

// One cluster serves all: each step leaves eight devices and the agent as the next one finds them.
func TestDevicePlugin(t *testing.T) {
	s := newSite(t)
	t.Cleanup(s.tell)
	s.startAgent()
	t.Cleanup(s.killAgent)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *site)
	}{
		{"allocatable", allocatableIsComplete},
		{"memory after the start", memory},
		{"kubelet restarts", kubeletRestarts},
		{"agent restarts", agentRestarts},
		{"cordon", cordonLeavesSeven},
		{"slot", slotMovesThereAndBack},
		{"memory", memory},
		{"pod", podGetsItsDevices},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, s) }) {
			t.Fatalf("%s failed: what follows would, too", step.name)
		}
	}
}

func allocatableIsComplete(t *testing.T, s *site) {
	s.await(t, "eight devices at the kubelet", func() error { return s.counts(map[string]int{gpus: 8}) })
	s.await(t, "eight devices in the Node", func() error { return s.nodeCounts(8) })
	s.await(t, "the inventory", func() error {
		inventory, err := s.inventory()
		if err != nil {
			return err
		}
		for _, d := range inventory.Status.Devices {
			if d.Service == nil || *d.Service != (v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: gpus}) {
				return fmt.Errorf("device %s is served by %+v", d.ID, d.Service)
			}
		}
		if !meta.IsStatusConditionTrue(inventory.Status.Conditions, v1alpha1.ConditionServed) {
			return fmt.Errorf("conditions %+v", inventory.Status.Conditions)
		}
		return nil
	})
}

func memory(t *testing.T, s *site) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.agent.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "Rss") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// The kubelet's devices are complete soon after each restart: the times are printed.
func kubeletRestarts(t *testing.T, s *site) {
	var times []time.Duration
	for range restarts {
		s.node.Kill("kubelet")
		socket := filepath.Join(s.node.DevicePlugins(), "kubelet.sock")
		before := modTime(socket)
		if err := s.node.StartKubelet(); err != nil {
			t.Fatal(err)
		}
		s.await(t, "the kubelet's socket", func() error {
			if !modTime(socket).After(before) {
				return errors.New("the socket is the old one")
			}
			return nil
		})
		s.await(t, "eight devices", func() error { return s.counts(map[string]int{gpus: 8}) })
		times = append(times, time.Since(modTime(socket)))
	}
	report(t, "kubelet killed: from its new socket to eight devices", times)
	if err := s.node.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await(t, "eight devices in the Node", func() error { return s.nodeCounts(8) })
}

func agentRestarts(t *testing.T, s *site) {
	var times []time.Duration
	for range restarts {
		s.killAgent()
		s.await(t, "no devices without an agent", func() error { return s.counts(map[string]int{gpus: 0}) })
		start := time.Now()
		s.startAgent()
		s.await(t, "eight devices", func() error { return s.counts(map[string]int{gpus: 8}) })
		times = append(times, time.Since(start))
	}
	report(t, "agent killed: from its start to eight devices", times)
}

func cordonLeavesSeven(t *testing.T, s *site) {
	inventory, err := s.inventory()
	if err != nil {
		t.Fatal(err)
	}
	sick := inventory.Status.Devices[3].ID
	s.patch(t, fmt.Sprintf(`{"spec":{"cordonedDevices":[%q]}}`, sick))
	s.await(t, "seven allocatable of eight", func() error { return s.nodeCounts(7) })
	ids, err := s.allocatable()
	if err != nil || slices.Contains(ids[gpus], string(sick)) {
		t.Errorf("the kubelet gives %v, %v: want all but %s", ids[gpus], err, sick)
	}
	s.patch(t, `{"spec":{"cordonedDevices":null}}`)
	s.await(t, "eight again", func() error { return s.nodeCounts(8) })
}

// A device moves to its slot and back, and is never in both: the kubelet is asked all the time.
func slotMovesThereAndBack(t *testing.T, s *site) {
	const slot = "rankwright.dev/slot-e2e-0"
	inventory, err := s.inventory()
	if err != nil {
		t.Fatal(err)
	}
	device := string(inventory.Status.Devices[5].ID)
	place := func(want, not string) func() error {
		return func() error {
			ids, err := s.allocatable()
			if err != nil {
				return err
			}
			if slices.Contains(ids[want], device) && slices.Contains(ids[not], device) {
				t.Errorf("%s is in %s and in %s", device, want, not)
			}
			if !slices.Contains(ids[want], device) {
				return fmt.Errorf("%s is not in %s: %v", device, want, ids)
			}
			return nil
		}
	}
	start := time.Now()
	s.keep(t, fmt.Sprintf(`[{"device":%q,"resource":%q}]`, device, slot))
	s.await(t, "the device in its slot", place(slot, gpus))
	t.Logf("into the slot: %v", time.Since(start).Round(time.Millisecond))
	s.await(t, "seven in the common pool", func() error { return s.counts(map[string]int{gpus: 7, slot: 1}) })
	s.killAgent()
	s.startAgent()
	s.await(t, "the device in its slot with another agent", place(slot, gpus))
	s.await(t, "seven in the common pool with another agent", func() error { return s.counts(map[string]int{gpus: 7, slot: 1}) })
	start = time.Now()
	s.keep(t, "null")
	s.await(t, "the device back", place(gpus, slot))
	t.Logf("and back: %v", time.Since(start).Round(time.Millisecond))
	s.await(t, "all eight", func() error { return s.counts(map[string]int{gpus: 8, slot: 0}) })
}

// A pod holds exactly its devices; a device that it holds moves to a slot only when the pod is gone.
func podGetsItsDevices(t *testing.T, s *site) {
	const slot = "rankwright.dev/slot-e2e-1"
	s.must(s.node.PlayHost(t.Context(), s.path("host.tar.gz"))) // for the device nodes
	s.create(t, "holder", 3)
	var held []string
	s.await(t, "three devices held", func() error {
		ids, err := s.held("holder")
		if held = ids[gpus]; err != nil || len(held) != 3 {
			return fmt.Errorf("held %v, %w", ids, err)
		}
		return nil
	})
	s.keep(t, fmt.Sprintf(`[{"device":%q,"resource":%q}]`, held[0], slot))
	s.await(t, "the held device out of the common pool", func() error { return s.counts(map[string]int{gpus: 7, slot: 0}) })
	s.create(t, "other", 4) // of the five left: the scheduler counts the held device, which is in no pool now, among the three of the holder
	s.await(t, "the others held by another pod", func() error {
		ids, err := s.held("other")
		if err != nil || len(ids[gpus]) != 4 || slices.ContainsFunc(held, func(id string) bool { return slices.Contains(ids[gpus], id) }) {
			return fmt.Errorf("held %v, %w: want four and none of %v", ids, err, held)
		}
		return nil
	})
	if err := s.counts(map[string]int{slot: 0}); err != nil {
		t.Errorf("a held device is in a slot: %v", err)
	}
	zero := int64(0)
	if err := s.clients.CoreV1().Pods("default").Delete(t.Context(), "holder", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the device in its slot", func() error { return s.counts(map[string]int{gpus: 7, slot: 1}) })
	s.keep(t, "null")
	s.await(t, "the device back", func() error { return s.counts(map[string]int{gpus: 8, slot: 0}) })
}

func (s *site) create(t *testing.T, name string, devices int64) {
	t.Helper()
	limits := corev1.ResourceList{gpus: *resource.NewQuantity(devices, resource.DecimalSI)}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "pause", Image: "rankwright.dev/pause:local", ImagePullPolicy: corev1.PullNever,
			Resources: corev1.ResourceRequirements{Limits: limits},
		}}},
	}
	pods := s.clients.CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await(t, name+" runs", func() error {
		now, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.Status.Phase == corev1.PodFailed {
			t.Fatalf("%s: %s: %s", name, now.Status.Reason, now.Status.Message)
		}
		if now.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("is %s: %+v", now.Status.Phase, now.Status.ContainerStatuses)
		}
		return nil
	})
}

func (s *site) inventories() client.Client {
	scheme := runtime.NewScheme()
	s.must(v1alpha1.AddToScheme(scheme))
	c, err := client.New(s.cluster.ControlPlane.Config(), client.Options{Scheme: scheme})
	s.must(err)
	return c
}

func (s *site) inventory() (*v1alpha1.AcceleratorInventory, error) {
	inventory := &v1alpha1.AcceleratorInventory{}
	return inventory, s.inventories().Get(s.t.Context(), client.ObjectKey{Name: s.node.Name}, inventory)
}

func (s *site) patch(t *testing.T, body string) {
	t.Helper()
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: s.node.Name}}
	if err := s.inventories().Patch(t.Context(), inventory, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		t.Fatal(err)
	}
}

// keep writes the slots of the inventory, as the operator does.
func (s *site) keep(t *testing.T, slots string) {
	t.Helper()
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: s.node.Name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"slots":`+slots+`}}`))
	if err := s.inventories().Status().Patch(t.Context(), inventory, patch, client.FieldOwner(v1alpha1.OperatorFieldManager)); err != nil {
		t.Fatal(err)
	}
}

func modTime(name string) time.Time {
	info, err := os.Lstat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func report(t *testing.T, what string, times []time.Duration) {
	t.Helper()
	slices.Sort(times)
	t.Logf("%s: least %v, median %v, most %v of %d", what, times[0].Round(time.Millisecond),
		times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond), len(times))
}
