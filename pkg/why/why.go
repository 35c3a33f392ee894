// Package why says why a placement, a pod, a node or a device of a cluster is as it is: the cause, the evidence for it, and the commands that would change
// it. Each kind of object has a table of causes, of which the first that is recognised answers. It is pure: whether a placement would fit in another
// cluster is asked of a function that the caller gives.
package why

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
)

// Case is a cluster at one moment, as far as the user may see it.
type Case struct {
	State *holding.State
	// Claims and Slices are what is asked of and offered by DRA drivers, Warnings events that warn.
	Claims   []resourcev1.ResourceClaim
	Slices   []resourcev1.ResourceSlice
	Warnings []corev1.Event
	// Fits says whether there would be a plan for a placement in a cluster; nil where that cannot be found out.
	Fits func(p *v1alpha1.ModelPlacement, in fleet.State) bool

	held  *holding.Fleet
	named *names
}

// Answer is why an object is as it is.
type Answer struct {
	// Object is what was asked about, as an argument of commands.
	Object string `json:"object"`
	// Reason is a word for the cause, Cause a sentence about it.
	Reason string `json:"reason"`
	Cause  string `json:"cause"`
	// Evidence is what the cause is recognised by, what says most first.
	Evidence []string `json:"evidence,omitempty"`
	// Commands would change it; the first one is the least.
	Commands []string `json:"commands,omitempty"`
}

// cause is a row of a table of causes.
type cause[T any] struct {
	reason string
	// is recognises the cause.
	is func(*Case, T) bool
	// cause, evidence and commands are what is answered then.
	cause              func(*Case, T) string
	evidence, commands func(*Case, T) []string
	// via answers with the answer about another object, to which evidence leads; it replaces reason, cause and commands.
	via func(*Case, T) Answer
}

// first answers with the first cause of a table that is recognised.
func first[T any](c *Case, object string, about T, table []cause[T]) Answer {
	at := slices.IndexFunc(table, func(row cause[T]) bool { return row.is(c, about) })
	if at < 0 {
		return Answer{Object: object, Reason: "Unknown", Cause: "No cause is known"}
	}
	row := &table[at]
	var made Answer
	if row.via != nil {
		made = row.via(c, about)
	} else {
		made = Answer{Reason: row.reason, Cause: row.cause(c, about), Evidence: row.evidence(c, about), Commands: row.commands(c, about)}
	}
	if row.via != nil && row.evidence != nil {
		made.Evidence = append(made.Evidence, row.evidence(c, about)...)
	}
	made.Object = object
	return made
}

// Device finds a device; on any node where none is named and only one has it.
func (c *Case) Device(node string, id v1alpha1.DeviceID) *holding.Device {
	var found *holding.Device
	for i := range c.fleetOf().Devices {
		if d := &c.held.Devices[i]; d.ID == id && (node == "" || d.Node == node) {
			if found != nil {
				return nil
			}
			found = d
		}
	}
	return found
}

func (c *Case) placement(namespace, name string) *v1alpha1.ModelPlacement {
	return found(c.State.Placements, func(p *v1alpha1.ModelPlacement) bool { return p.Namespace == namespace && p.Name == name })
}

// podsOf are the pods of a placement.
func (c *Case) podsOf(p *v1alpha1.ModelPlacement) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range c.State.Pods {
		if pod := &c.State.Pods[i]; pod.Namespace == p.Namespace && pod.Labels[v1alpha1.LabelPlacement] == p.Name {
			pods = append(pods, pod)
		}
	}
	return pods
}

// warnings are what events warn of about an object, the latest first.
func (c *Case) warnings(of func(*corev1.Event) bool) []*corev1.Event {
	var events []*corev1.Event
	for i := range c.Warnings {
		if of(&c.Warnings[i]) {
			events = append(events, &c.Warnings[i])
		}
	}
	slices.SortStableFunc(events, func(a, b *corev1.Event) int { return latest(b).Compare(latest(a).Time) })
	return events
}

// latest is when an event was last: it is written with one of three times.
func latest(e *corev1.Event) metav1.Time {
	last := e.LastTimestamp
	for _, at := range []*corev1.EventSeries{{LastObservedTime: e.EventTime}, e.Series} {
		if at != nil && at.LastObservedTime.After(last.Time) {
			last = metav1.NewTime(at.LastObservedTime.Time)
		}
	}
	return last
}

func found[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// says are fixed words of a row.
func says[T any](text string) func(*Case, T) string { return func(*Case, T) string { return text } }

// lines are the texts that are not empty.
func lines(texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// sentence ends no text with a full stop: it is shown in a line of its own.
func sentence(text string) string { return strings.TrimRight(strings.TrimSpace(text), ".") }

func commandf(format string, args ...any) string { return "kubectl " + fmt.Sprintf(format, args...) }
