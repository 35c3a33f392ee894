package placement

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// maxLosses is how many the API takes in a status.
const maxLosses = 256

// state is what a placement's plan in force has lost, and what follows.
type state struct {
	// losses are all that is known, dated; verdict says which of them a new plan answers.
	losses  []v1alpha1.Loss
	verdict losses.Verdict
	// silent are the nodes of the plan whose agents have not been heard of for too long.
	silent []string
	// pods are the pods of the placement that have not ended.
	pods []corev1.Pod
	// drift is where pods have other devices than they are to have.
	drift losses.Drift
}

// dated are the losses of a placement.
type dated struct {
	uid    types.UID
	losses []v1alpha1.Loss
}

// shuns says whether a new plan may use no device of a node: the node is lost, or would evict the placement's pods.
func (s *state) shuns(h *fleet.Host) bool {
	return fleet.Tainted(h, s.pods) != nil ||
		slices.ContainsFunc(s.verdict.Due, func(l v1alpha1.Loss) bool { return l.Device == "" && l.Node == h.Name })
}

// due names the losses that a new plan answers.
func (s *state) due() string {
	text := ""
	for i := range s.verdict.Due {
		text += losses.Text(&s.verdict.Due[i]) + "\n"
	}
	return text
}

// view is where what a plan has lost is looked for: the nodes by name, and how many nodes the cluster has.
type view struct {
	host  func(name string) *fleet.Host
	ready func(context.Context) (fleet.Readiness, error)
}

// look compares a plan in force with its nodes and pods.
func (r *Reconciler) look(ctx context.Context, now *state, placement *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan, of view) error {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name})
	if err != nil {
		return fmt.Errorf("list pods of placement: %w", err)
	}
	now.pods = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	scene := losses.Scene{Rows: plan.Spec.Nodes, Host: of.host, Pods: now.pods, LeavesCordoned: placement.Spec.FailurePolicy.Drain != nil}
	if scene.Strangers, err = r.strangers(ctx, &scene, plan.Spec.NodeNames()); err != nil {
		return err
	}
	for _, name := range plan.Spec.NodeNames() {
		if of.host(name).Silent {
			now.silent = append(now.silent, name)
		}
	}
	now.drift = losses.DriftOf(&scene)
	known := placement.Status.Losses
	if last := r.seen.Get(client.ObjectKeyFromObject(placement)); last.uid == placement.UID {
		known = last.losses
	}
	now.losses = losses.Date(losses.Find(&scene), known, &placement.Spec.FailurePolicy, r.Now())
	if len(now.losses) == 0 {
		return nil
	}
	var census losses.Census
	at := r.Now()
	if losses.AskCensus(now.losses, at) {
		ready, err := of.ready(ctx)
		if err != nil {
			return err
		}
		census = losses.Census{Nodes: ready.Nodes, Silent: ready.Not}
	}
	now.verdict = losses.Decide(now.losses, losses.Remember(plan), census, at)
	return nil
}

// remember keeps the times of a placement's losses: what the cache has of its status may be older, or could not be written.
func (r *Reconciler) remember(p *pass) {
	r.seen.Set(client.ObjectKeyFromObject(p.placement), dated{p.placement.UID, p.state.losses})
}

// strangers returns the pods that hold devices of the nodes, run there and belong to no placement. An allocation alone does not tell: the
// kubelet's may be of a pod that has ended.
func (r *Reconciler) strangers(ctx context.Context, scene *losses.Scene, nodes []string) (map[types.NamespacedName]bool, error) {
	found := map[types.NamespacedName]bool{}
	for _, name := range nodes {
		inventory := scene.Host(name).Inventory
		if inventory == nil {
			continue
		}
		for _, a := range inventory.Status.Allocations {
			key := types.NamespacedName{Namespace: a.Namespace, Name: a.Pod}
			if _, asked := found[key]; asked || !scene.Uses(name, a.Device) || slices.ContainsFunc(scene.Pods, func(p corev1.Pod) bool { return client.ObjectKeyFromObject(&p) == key }) {
				continue
			}
			var pod corev1.Pod
			there, err := objects.Read(ctx, r.Reader, key, &pod)
			if err != nil {
				return nil, err
			}
			found[key] = there && pod.Labels[v1alpha1.LabelPlacement] == "" && pod.Spec.NodeName == name && fleet.Holds(&pod)
		}
	}
	return found, nil
}

// withRanks adds the ranks that a mesh gives to lost devices.
func withRanks(lost []v1alpha1.LostRank, members []v1alpha1.MeshMember) []v1alpha1.LostRank {
	ranked := slices.Clone(lost)
	for i := range ranked {
		for _, m := range members {
			at := slices.Index(m.Devices, ranked[i].Device)
			if m.Node == ranked[i].Node && m.Replica == ranked[i].Replica && at >= 0 {
				ranked[i].Rank = m.FirstRank + int32(at)
			}
		}
	}
	return ranked
}
