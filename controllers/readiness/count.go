package readiness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

// seen is what a pod's standing depends on. It is comparable.
type seen struct {
	placement, placementUID, plan, index, replica, worker, node, devices string
	gated, ready, ending                                                 bool
	phase                                                                corev1.PodPhase
}

func seenOf(pod *corev1.Pod) seen {
	return seen{
		placement: pod.Labels[v1alpha1.LabelPlacement], placementUID: pod.Annotations[v1alpha1.AnnotationPlacementUID],
		plan: pod.Labels[v1alpha1.LabelPlan], index: pod.Labels[binding.LabelIndex],
		replica: pod.Annotations[binding.AnnotationReplica], worker: pod.Labels[v1alpha1.LabelWorker],
		node: pod.Spec.NodeName, devices: pod.Annotations[v1alpha1.AnnotationDevices],
		gated: binding.Gated(pod), ending: !pod.DeletionTimestamp.IsZero(), phase: pod.Status.Phase,
		ready: slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}),
	}
}

// standing is how far a place or a pod is from running as planned.
type standing int

// The standings, from the one that a placement's author is told of first.
const (
	unbound standing = iota
	elsewhere
	ended
	missing
	old
	ending
	gated
	unscheduled
	notReady
	asPlanned
)

// wordings are what is said of places that do not run as planned: a reason for programs and words for people.
var wordings = [asPlanned]struct{ reason, text string }{
	unbound:     {"PodsUnbound", "not bound by the operator"},
	elsewhere:   {"PodsElsewhere", "not where the plan has them"},
	ended:       {"PodsEnded", "ended"},
	missing:     {"PodsMissing", "missing"},
	old:         {"RollingOut", "of an earlier plan"},
	ending:      {"RollingOut", "ending"},
	gated:       {"PodsWaiting", "waiting for their places"},
	unscheduled: {"PodsWaiting", "not scheduled"},
	notReady:    {"PodsNotReady", "not ready"},
}

// count is what became of the pods of a placement.
type count struct {
	// total is the number of pods of the plan in force, ready of those that run as planned.
	total, ready int
	// live is the number of pods that have not ended.
	live int
	// replicas are the copies of which the first pod is there, readyReplicas those of which all pods run as planned.
	replicas, readyReplicas int32
	// names are the pods, or the indices of missing ones, of each other standing.
	names [asPlanned][]string
	// planned is when the plan in force was made.
	planned metav1.Time
}

// standingOf says where a pod stands that has a place; place is nil where the plan has none for it.
func standingOf(pod seen, plan string, place *launch.Pod) standing {
	switch {
	case pod.ending:
		return ending
	case pod.gated:
		return gated
	case pod.placementUID == "":
		return unbound
	case pod.plan != plan || place == nil:
		return old
	case pod.phase == corev1.PodSucceeded || pod.phase == corev1.PodFailed:
		return ended
	case pod.node == "":
		return unscheduled
	case pod.node != place.Node || pod.devices != binding.DevicesText(place.Devices):
		return elsewhere
	case !pod.ready:
		return notReady
	default:
		return asPlanned
	}
}

// countPods compares the pods of a placement with the places of its plan in force.
func countPods(placement *v1alpha1.ModelPlacement, places []launch.Pod, pods []corev1.Pod) *count {
	c := &count{total: len(places)}
	best := make([]standing, len(places)) // of several pods with one index, the one that is nearest to running as planned
	names := make([]string, len(places))
	for i := range best {
		best[i], names[i] = missing, "index "+strconv.Itoa(i)
	}
	first := map[string]bool{}
	placeless := 0
	for i := range pods {
		pod := seenOf(&pods[i])
		over := pod.phase == corev1.PodSucceeded || pod.phase == corev1.PodFailed
		if !over {
			c.live++
		}
		ours := pod.placementUID == string(placement.UID)
		if ours && !over && pod.worker == "0" && !pod.gated {
			first[pod.replica] = true
		}
		index, err := strconv.Atoi(pod.index)
		placed := err == nil && index >= 0 && index < len(places) && (ours || pod.gated)
		var place *launch.Pod
		if placed {
			place = &places[index]
		}
		is := standingOf(pod, placement.Status.Plan, place)
		switch {
		case placed && (best[index] == missing || is > best[index]):
			best[index], names[index] = is, pods[i].Name
		case !placed && !over:
			c.names[is] = append(c.names[is], pods[i].Name)
			if is == gated {
				placeless++
			}
		}
	}
	c.replicas = int32(len(first))
	c.tally(places, best, names)
	// A pod that waits without an index will have one of those that are missing.
	c.names[missing] = c.names[missing][:max(0, len(c.names[missing])-placeless)]
	return c
}

// tally sorts the places by where their pods stand.
func (c *count) tally(places []launch.Pod, best []standing, names []string) {
	short := map[int]bool{} // copies that lack a pod
	copies := 0
	for i, is := range best {
		copies = max(copies, places[i].Copy+1)
		if is == asPlanned {
			c.ready++
			continue
		}
		short[places[i].Copy] = true
		c.names[is] = append(c.names[is], names[i])
	}
	c.readyReplicas = int32(copies - len(short))
}

// text says how many pods run as planned, and names of each other standing the first.
func (c *count) text() string {
	text := fmt.Sprintf("%d of %d pods run as planned", c.ready, c.total)
	for is, names := range c.names {
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		text += fmt.Sprintf("; %s: %s", wordings[is].text, names[0])
		if more := len(names) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return strings.TrimSpace(text) + "."
}

// reason is why not all pods run as planned.
func (c *count) reason() string {
	for is, names := range c.names {
		if len(names) > 0 {
			return wordings[is].reason
		}
	}
	return "PodsNotReady"
}
