package binding

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/losses"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/launch"
)

// comeback is how long the pods of a copy may be missing before the next copy is moved nevertheless: nobody makes them again.
const comeback = 2 * time.Minute

// seat is a device of a node.
type seat struct {
	node   string
	device v1alpha1.DeviceID
}

// toEvict returns which of the pods that are to move are evicted now. Copies move one by one, since those that stay serve meanwhile:
// the next goes when no other is on its way. A pod that serves nobody goes at once: it is not ready, is on a device that is lost, or
// belongs to a copy that is no more; and so does one that holds a device for which a copy on its way waits. Of the others copies that move to
// spare devices come before those that need devices of another copy, and higher numbers before lower ones.
func (r *Reconciler) toEvict(ctx context.Context, offer *binding.Offer, live []corev1.Pod, moves []*corev1.Pod) ([]*corev1.Pod, error) {
	places, err := offer.Places()
	if _, refused := errors.AsType[*binding.Refusal](err); refused {
		return moves, nil
	}
	if err != nil {
		return nil, err
	}
	away, there := onTheirWay(offer, places, live)
	short := r.short(offer, places, there)
	if len(moves) == 0 {
		return nil, nil
	}
	idle, err := r.idle(ctx, live, moves, int(offer.Mesh.Spec.Replicas))
	if err != nil {
		return nil, err
	}
	awaited := map[seat]bool{}
	for i := range places {
		if away[places[i].Copy] {
			for _, at := range seatsOf(&places[i]) {
				awaited[at] = true
			}
		}
	}
	due := func(pod *corev1.Pod) bool {
		replica := replicaOf(pod)
		return idle[pod.UID] || away[replica] || short[replica] || slices.ContainsFunc(heldBy(pod), func(at seat) bool { return awaited[at] })
	}
	now := slices.DeleteFunc(slices.Clone(moves), func(pod *corev1.Pod) bool { return !due(pod) })
	if len(away)+len(short)+len(now) == 0 {
		replica := first(places, moves)
		now = slices.DeleteFunc(slices.Clone(moves), func(pod *corev1.Pod) bool { return replicaOf(pod) != replica })
	}
	return now, nil
}

// idle returns the pods that serve nobody, of copies that are as many. What is lost is what plans lose; no grace is left to it here.
func (r *Reconciler) idle(ctx context.Context, live []corev1.Pod, moves []*corev1.Pod, copies int) (map[types.UID]bool, error) {
	scene := losses.Scene{Pods: live}
	for _, pod := range moves {
		for _, at := range heldBy(pod) {
			if pod.Spec.NodeName == at.node {
				scene.Rows = append(scene.Rows, v1alpha1.PlanRow{Node: at.node, Replica: int32(replicaOf(pod)), Devices: []v1alpha1.DeviceID{at.device}})
			}
		}
	}
	hosts, err := r.Index.Hosts(ctx, (&v1alpha1.ShardingPlanSpec{Nodes: scene.Rows}).NodeNames())
	if err != nil {
		return nil, err
	}
	scene.Host = func(node string) *fleet.Host { return hosts[node] }
	lost := map[seat]bool{}
	for _, rank := range losses.Ranks(losses.Find(&scene), scene.Rows) {
		lost[seat{rank.Node, rank.Device}] = true
	}
	idle := map[types.UID]bool{}
	for _, pod := range moves {
		gone := slices.ContainsFunc(heldBy(pod), func(at seat) bool { return lost[at] })
		if replica := replicaOf(pod); gone || !ready(pod) || replica < 0 || replica >= copies {
			idle[pod.UID] = true
		}
	}
	return idle, nil
}

// onTheirWay returns the copies that are on their way to their places in the plan in force: pods of them end, wait, or have started and are
// not ready yet. It also returns how many pods each copy has.
func onTheirWay(offer *binding.Offer, places []launch.Pod, live []corev1.Pod) (away map[int]bool, there map[int]int) {
	away, there = map[int]bool{}, map[int]int{}
	for i := range live {
		pod := &live[i]
		index, err := strconv.Atoi(pod.Labels[binding.LabelIndex])
		if err != nil || index >= len(places) || binding.ByAuthor(pod) && pod.Annotations[binding.AnnotationBoundBy] == "" {
			continue
		}
		replica := places[index].Copy
		there[replica]++
		came := binding.Gated(pod) || pod.Annotations[binding.AnnotationBoundBy] == offer.Plan.Name
		if came && !ready(pod) || !pod.DeletionTimestamp.IsZero() {
			away[replica] = true
		}
	}
	return away, there
}

// short returns the copies that lack pods which may be about to be made: they were missed for the first time less than comeback ago. It is
// noted by what is there and not by what was evicted, so that an operator that starts, and a new plan, wait for copies that were evicted before.
func (r *Reconciler) short(offer *binding.Offer, places []launch.Pod, there map[int]int) map[int]bool {
	lacking := map[int]bool{}
	for i := range places {
		there[places[i].Copy]--
		if there[places[i].Copy] < 0 {
			lacking[places[i].Copy] = true
		}
	}
	key, now := client.ObjectKeyFromObject(offer.Placement), r.Now()
	known, missed := r.missed.Get(key), map[int]time.Time{}
	short := map[int]bool{}
	for replica := range lacking {
		since, was := known[replica]
		if !was {
			since = now
		}
		missed[replica] = since
		if now.Sub(since) < comeback {
			short[replica] = true
		}
	}
	r.missed.Set(key, missed)
	return short
}

// first returns the copy that moves first.
func first(places []launch.Pod, moves []*corev1.Pod) int {
	holders := map[seat]int{}
	copies := map[int]bool{}
	for _, pod := range moves {
		copies[replicaOf(pod)] = true
		for _, at := range heldBy(pod) {
			holders[at] = replicaOf(pod)
		}
	}
	spare, last := -1, -1
	for replica := range copies {
		free := true
		for i := range places {
			for _, at := range seatsOf(&places[i]) {
				holder, held := holders[at]
				free = free && (places[i].Copy != replica || !held || holder == replica)
			}
		}
		last = max(last, replica)
		if free {
			spare = max(spare, replica)
		}
	}
	if spare >= 0 {
		return spare
	}
	return last
}

func seatsOf(place *launch.Pod) []seat {
	seats := make([]seat, len(place.Devices))
	for i, device := range place.Devices {
		seats[i] = seat{place.Node, device}
	}
	return seats
}

// heldBy returns the devices to which a pod was bound.
func heldBy(pod *corev1.Pod) []seat {
	var seats []seat
	if node := pod.Annotations[binding.AnnotationNode]; node != "" {
		for device := range strings.SplitSeq(pod.Annotations[v1alpha1.AnnotationDevices], ",") {
			seats = append(seats, seat{node, v1alpha1.DeviceID(device)})
		}
	}
	return seats
}

// replicaOf is the copy that a pod was bound to; -1 where it was bound to none.
func replicaOf(pod *corev1.Pod) int {
	replica, err := strconv.Atoi(pod.Annotations[binding.AnnotationReplica])
	if err != nil {
		return -1
	}
	return replica
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
