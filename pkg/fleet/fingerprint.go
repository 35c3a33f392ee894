package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Fingerprint returns a text that is equal for two snapshots from which the planner gives the same answers: of equal
// hosts, and plans and pods that hold the same devices.
func (s *Snapshot) Fingerprint() string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s.sum[0]), s.sum[1])) +
		hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s.sum[2]), s.sum[3]))
}

// sum adds up the digests of nodes, in any order, so that one that changes is taken out and put in again.
type sum [4]uint64

func (s *sum) add(other sum) {
	for i := range s {
		s[i] += other[i]
	}
}

func (s *sum) take(other sum) {
	for i := range s {
		s[i] -= other[i]
	}
}

// digestOf covers all that a plan sees of a node: its host, which may be nil, and who may hold devices of it. It is zero of a node that has neither.
func digestOf(node string, h *Host, claimants map[string]string) (of sum) {
	claims, claimed := claimants[node]
	if h == nil && !claimed {
		return sum{}
	}
	text := make([]byte, 0, 256)
	if h != nil {
		text = append(text, h.facts().digest[:]...)
	}
	text = append(append(append(text, node...), 0), claims...)
	digest := sha256.Sum256(text)
	for i := range of {
		of[i] = binary.BigEndian.Uint64(digest[8*i:])
	}
	return of
}

// describeClaims returns the plans and pods that may hold devices of a node, as a text that can be compared.
func (s *Snapshot) describeClaims(node string) string {
	on := s.claims[node]
	who := make([]string, 0, len(on.plans)+len(on.pods))
	for i := range on.plans {
		who = append(who, on.plans[i].text)
	}
	for _, at := range on.pods {
		who = append(who, s.describePod(s.Pods[at]))
	}
	slices.Sort(who)
	return strings.Join(who, "\n")
}

// describePod says what a pod holds by itself and by its plan.
func (s *Snapshot) describePod(pod *corev1.Pod) string {
	text := "pod " + string(pod.UID) + " " + pod.Namespace + "/" + pod.Name
	if of := pod.Annotations[v1alpha1.AnnotationPlacementUID]; of != "" {
		text += " bound for " + of + " to " + pod.Annotations[v1alpha1.AnnotationDevices]
	}
	if p := s.planOf(pod); p != nil {
		text += " of " + p.Namespace + "/" + p.Name + " " + string(p.UID)
	}
	return text
}

// HasPods says whether the pods of placements on a node are, as far as they may hold devices, those of the snapshot.
func (s *Snapshot) HasPods(node string, pods []corev1.Pod) bool {
	var there, known []string
	for i := range pods {
		if Holds(&pods[i]) {
			there = append(there, s.describePod(&pods[i]))
		}
	}
	for _, at := range s.claims[node].pods {
		known = append(known, s.describePod(s.Pods[at]))
	}
	slices.Sort(there)
	slices.Sort(known)
	return slices.Equal(there, known)
}
