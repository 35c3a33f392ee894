package nodeagent

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// labelKeeper puts back labels that somebody removed, and not as often as they are removed: against a program that removes
// them in a loop it writes after firstSpacing, then ever more rarely up to lastSpacing. It knows no clock.
type labelKeeper struct {
	// node is the UID of the Node whose labels are kept: a Node that is created anew has lost none yet.
	node types.UID
	// written are the keys that the agent gave the Node and did not take back.
	written sets.Set[string]
	// restored is when labels were last put back.
	restored spacing
	// fought are the labels that were removed again too soon after that.
	fought sets.Set[string]
}

// removed are the labels that the agent wrote and that are gone though they are wanted.
func (k *labelKeeper) removed(node *metav1.PartialObjectMetadata, desired map[string]string) []string {
	if node.UID != k.node {
		return nil
	}
	var gone []string
	for key := range desired {
		if _, there := node.Labels[key]; !there && k.written.Has(key) {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	return gone
}

// withhold takes from the desired labels those that were removed and that may not be put back yet.
func (k *labelKeeper) withhold(node *metav1.PartialObjectMetadata, desired map[string]string, now time.Time) (held map[string]string) {
	gone := k.removed(node, desired)
	if len(gone) == 0 || !now.Before(k.restored.next()) {
		return desired
	}
	k.fought = k.fought.Union(sets.New(gone...))
	held = maps.Clone(desired)
	for _, key := range gone {
		delete(held, key)
	}
	return held
}

// wrote notes that labels were written to the Node as it was read.
func (k *labelKeeper) wrote(node *metav1.PartialObjectMetadata, applied map[string]string, now time.Time) {
	if len(k.removed(node, applied)) > 0 {
		k.restored.happened(now)
	}
	k.node, k.written = node.UID, sets.KeySet(applied).Union(k.fought)
}

// contested are the labels that somebody keeps removing, until they stayed for as long as they were withheld; next is when
// to look again, zero where there are none.
func (k *labelKeeper) contested(now time.Time) (keys []string, next time.Time) {
	if len(k.fought) == 0 {
		return nil, time.Time{}
	}
	due := k.restored.next()
	quiet := due.Add(k.restored.length)
	switch {
	case now.Before(due):
		next = due
	case now.Before(quiet):
		next = quiet
	default:
		k.fought = nil
		return nil, time.Time{}
	}
	return sets.List(k.fought), next
}
