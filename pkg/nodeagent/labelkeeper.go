package nodeagent

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// labelKeeper puts back labels that somebody removed, and not as often as they are removed: against a program that removes
// them in a loop it writes after firstSpacing, then ever more rarely up to lastSpacing. It knows no clock.
type labelKeeper struct {
	// node is the UID of the Node whose labels are kept: a Node that is created anew has lost none yet.
	node types.UID
	// written are the keys that the agent gave the Node and did not take back.
	written map[string]bool
	// restored is when labels were last put back, spacing how long the next time waits at least.
	restored time.Time
	spacing  time.Duration
	// fought are the labels that were removed again within the spacing.
	fought map[string]bool
}

// removed are the labels that the agent wrote and that are gone though they are wanted.
func (k *labelKeeper) removed(node *metav1.PartialObjectMetadata, desired map[string]string) []string {
	if node.UID != k.node {
		return nil
	}
	var gone []string
	for key := range desired {
		if _, there := node.Labels[key]; !there && k.written[key] {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	return gone
}

// withhold takes from the desired labels those that were removed and that may not be put back yet.
func (k *labelKeeper) withhold(node *metav1.PartialObjectMetadata, desired map[string]string, now time.Time) (held map[string]string) {
	gone := k.removed(node, desired)
	if len(gone) == 0 || k.restored.IsZero() || now.Sub(k.restored) >= k.spacing {
		return desired
	}
	held = maps.Clone(desired)
	if k.fought == nil {
		k.fought = map[string]bool{}
	}
	for _, key := range gone {
		delete(held, key)
		k.fought[key] = true
	}
	return held
}

// wrote notes that labels were written to the Node as it was read.
func (k *labelKeeper) wrote(node *metav1.PartialObjectMetadata, applied map[string]string, now time.Time) {
	if len(k.removed(node, applied)) > 0 {
		if k.restored.IsZero() || now.Sub(k.restored) > 2*k.spacing {
			k.spacing = firstSpacing
		} else {
			k.spacing = min(2*k.spacing, lastSpacing)
		}
		k.restored = now
	}
	k.node, k.written = node.UID, map[string]bool{}
	for key := range applied {
		k.written[key] = true
	}
	for key := range k.fought {
		k.written[key] = true
	}
}

// contested are the labels that somebody keeps removing, until they stayed for as long as they were withheld; next is when
// to look again, zero where there are none.
func (k *labelKeeper) contested(now time.Time) (keys []string, next time.Time) {
	if len(k.fought) == 0 {
		return nil, time.Time{}
	}
	due, quiet := k.restored.Add(k.spacing), k.restored.Add(2*k.spacing)
	switch {
	case now.Before(due):
		next = due
	case now.Before(quiet):
		next = quiet
	default:
		k.fought = nil
		return nil, time.Time{}
	}
	return slices.Sorted(maps.Keys(k.fought)), next
}
