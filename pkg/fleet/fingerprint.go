package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Fingerprint returns a text that is equal for two snapshots from which the planner gives the same answers: of equal
// hosts, plans and pods.
func (s *Snapshot) Fingerprint() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		sum.Write(s.hosts[name].digest[:])
	}
	lines := make([]string, 0, len(s.Plans)+len(s.Pods))
	for i := range s.Plans {
		// The spec of a plan never changes.
		lines = append(lines, "plan "+string(s.Plans[i].UID))
	}
	for i := range s.Pods {
		lines = append(lines, podLine(&s.Pods[i]))
	}
	slices.Sort(lines)
	for _, line := range lines {
		sum.Write([]byte(line + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// podLine returns what the planner sees of a pod.
func podLine(pod *corev1.Pod) string {
	return "pod " + string(pod.UID) + " " + pod.Namespace + "/" + pod.Name + " " + pod.Spec.NodeName + " " + pod.Labels[v1alpha1.LabelPlan]
}
