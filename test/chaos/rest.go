package chaos

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/invariant"
)

// sight is what is there when the world is looked at.
type sight struct {
	placements  v1alpha1.ModelPlacementList
	plans       v1alpha1.ShardingPlanList
	meshes      v1alpha1.DeviceMeshList
	pods        corev1.PodList
	inventories v1alpha1.AcceleratorInventoryList
}

func (w *world) look(ctx context.Context) (*sight, error) {
	s := &sight{}
	for _, list := range []client.ObjectList{&s.placements, &s.plans, &s.meshes, &s.pods, &s.inventories} {
		if err := w.client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	return s, nil
}

// settle waits until the world is at rest, and returns what is there then and how long it took; the error says what is not as it should be when
// patience is over.
func (w *world) settle(ctx context.Context) (*sight, time.Duration, error) {
	const poll, tell = 250 * time.Millisecond, 15 * time.Second
	begun := w.clock()
	told := begun
	for {
		s, why := w.restless(ctx)
		took := w.clock().Sub(begun)
		switch {
		case ctx.Err() != nil:
			return nil, took, ctx.Err()
		case why == "":
			return s, took, nil
		case took > w.Patience:
			return s, took, fmt.Errorf("it did not come to rest within %s: %s", w.Patience, why)
		case w.clock().Sub(told) > tell:
			told = w.clock()
			w.logf("    after %.0f s: %s", took.Seconds(), why)
		}
		pause(ctx, poll)
	}
}

// restless looks at the world and says what is not yet as it should be. It is read list by list, so that plans may change meanwhile: what is
// returned was the same before and after it was found to be settled. It is nil where it could not be read.
func (w *world) restless(ctx context.Context) (*sight, string) {
	before, err := w.look(ctx)
	if err != nil {
		return nil, err.Error()
	}
	why, err := invariant.Unsettled(ctx, w.client)
	if err != nil {
		return nil, err.Error()
	}
	if why == "" {
		why = w.unready(before)
	}
	if why != "" {
		return before, why
	}
	after, err := w.look(ctx)
	if err != nil {
		return nil, err.Error()
	}
	if !maps.Equal(before.planned(), after.planned()) {
		return after, "plans changed while they were looked at"
	}
	return after, ""
}

// unready says which placement is not served by its pods.
func (w *world) unready(s *sight) string {
	for i := range s.placements.Items {
		p := &s.placements.Items[i]
		if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); served(p) && (ready == nil || ready.Status != "True") {
			return fmt.Sprintf("placement %s is not ready: %+v", p.Name, ready)
		}
	}
	return s.strays(w.players.containers())
}

// served says whether the plan in force answers the spec.
func served(p *v1alpha1.ModelPlacement) bool {
	return invariant.Placed(p).Reason == v1alpha1.ReasonPlaced && p.Status.Plan != ""
}

// strays says which pod or slot is not of a plan in force.
func (s *sight) strays(running map[types.UID]container) string {
	want := map[types.NamespacedName]int{}
	for i := range s.meshes.Items {
		want[client.ObjectKeyFromObject(&s.meshes.Items[i])] = places(&s.meshes.Items[i])
	}
	for i := range s.pods.Items {
		pod := &s.pods.Items[i]
		c, runs := running[pod.UID]
		if !pod.DeletionTimestamp.IsZero() || !runs || len(c.devices) == 0 {
			return fmt.Sprintf("pod %s does not run (node %q, gates %v, deleted %v)", pod.Name, pod.Spec.NodeName, pod.Spec.SchedulingGates, pod.DeletionTimestamp)
		}
		want[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.LabelPlacement]}]--
	}
	for of, n := range want {
		if n != 0 {
			return fmt.Sprintf("placement %s has %d pods too few", of, n)
		}
	}
	planned := s.planned()
	there := s.names()
	for i := range s.inventories.Items {
		for _, row := range s.inventories.Items[i].Status.Allocations {
			if !there[types.NamespacedName{Namespace: row.Namespace, Name: row.Pod}] {
				return fmt.Sprintf("device %s of node %s still counts as held by pod %s, which is gone", row.Device, s.inventories.Items[i].Name, row.Pod)
			}
		}
		for _, slot := range s.inventories.Items[i].Status.Slots {
			if planned[s.inventories.Items[i].Name+"/"+string(slot.Device)] == "" {
				return fmt.Sprintf("slot %s of node %s is left behind", slot.Resource, s.inventories.Items[i].Name)
			}
		}
	}
	return ""
}

// names are those of the pods.
func (s *sight) names() map[types.NamespacedName]bool {
	names := map[types.NamespacedName]bool{}
	for i := range s.pods.Items {
		names[client.ObjectKeyFromObject(&s.pods.Items[i])] = true
	}
	return names
}

// planned are the uids of the placements whose active plans have devices, by node and device.
func (s *sight) planned() map[string]string {
	by := map[string]string{}
	for i := range s.plans.Items {
		plan := &s.plans.Items[i]
		if !plan.Active() {
			continue
		}
		for _, row := range plan.Spec.Nodes {
			for _, device := range row.Devices {
				by[row.Node+"/"+string(device)] = plan.Spec.Placement.UID
			}
		}
	}
	return by
}

// violations are what must not be when the world is at rest as it was seen, and what was noticed meanwhile that must never be.
func (w *world) violations(ctx context.Context, s *sight) []string {
	found := append(w.watcher.take(), w.players.take()...)
	for _, s := range w.seats {
		if s.running != nil && s.running.Exit() != nil && !s.doomed {
			found = append(found, fmt.Sprintf("%s ended by itself: %v", s.name, s.running.Exit()))
			s.running = nil
		}
	}
	lost, err := w.load.lost(ctx)
	if err != nil {
		lost = err.Error()
	}
	if lost != "" {
		found = append(found, "lost: "+lost)
	}
	if s == nil {
		return append(found, "what is there could not be read")
	}
	running := w.players.containers()
	return append(append(found, s.trespassers(running)...), w.restarted(s, running)...)
}

// trespassers are pods on devices that a plan has for another placement, or that differ from what the pod was told.
func (s *sight) trespassers(running map[types.UID]container) []string {
	var found []string
	planned := s.planned()
	for _, c := range running {
		for _, device := range c.devices {
			if of := planned[c.node+"/"+string(device)]; of != "" && of != c.of {
				found = append(found, fmt.Sprintf("pod %s of placement %s has device %s of node %s, which is planned for placement %s", c.name, c.of, device, c.node, of))
			}
		}
	}
	for i := range s.pods.Items {
		pod := &s.pods.Items[i]
		c, runs := running[pod.UID]
		if told := len(splitDevices(pod)); runs && told != len(c.devices) {
			found = append(found, fmt.Sprintf("pod %s was told %d devices and has %v", c.name, told, c.devices))
		}
		for _, device := range splitDevices(pod) {
			if runs && planned[c.node+"/"+device] != c.of {
				found = append(found, fmt.Sprintf("pod %s was told device %s, which no plan has for it", c.name, device))
			}
		}
	}
	return found
}

// restarted are pods that were at rest the last time, that nobody asked to change since, and that do not run any more.
func (w *world) restarted(s *sight, running map[types.UID]container) []string {
	var found []string
	now := generations(s.placements.Items)
	for uid, r := range w.rested {
		if _, runs := running[uid]; !runs && now[r.placement] == r.generation {
			found = append(found, fmt.Sprintf("pod %s was ended, and nothing asked for it", r.name))
		}
	}
	w.rested = map[types.UID]resting{}
	for i := range s.placements.Items {
		p := &s.placements.Items[i]
		for uid, c := range running {
			if c.of == string(p.UID) && served(p) {
				w.rested[uid] = resting{name: c.name, placement: c.of, generation: p.Generation}
			}
		}
	}
	return found
}

// splitDevices are the devices that a pod was told.
func splitDevices(pod *corev1.Pod) []string {
	if told := pod.Annotations[v1alpha1.AnnotationDevices]; told != "" {
		return strings.Split(told, ",")
	}
	return nil
}
