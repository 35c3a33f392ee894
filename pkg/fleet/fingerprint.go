package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Fingerprint returns a text that is equal for two snapshots from which the planner gives the same answers: of equal
// hosts, plans and pods.
func (s *Snapshot) Fingerprint() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		sum.Write(s.hosts[name].digest[:])
	}
	for _, node := range slices.Sorted(maps.Keys(s.claimants)) {
		sum.Write([]byte("node " + node + "\n" + s.claimants[node] + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// describeClaims returns, by node, the plans and pods that may hold devices, as a text that can be compared.
func (s *Snapshot) describeClaims() map[string]string {
	all := make(map[string]string, len(s.claims))
	for node, on := range s.claims {
		who := make([]string, 0, len(on.plans)+len(on.pods))
		for _, at := range on.plans {
			who = append(who, "plan "+string(s.Plans[at].UID)) // the spec of a plan never changes
		}
		for _, at := range on.pods {
			pod := &s.Pods[at]
			line := "pod " + string(pod.UID) + " " + pod.Namespace + "/" + pod.Name
			if pod.Annotations[v1alpha1.AnnotationPlacementUID] != "" {
				line += " bound to " + pod.Annotations[v1alpha1.AnnotationDevices]
			}
			if p := s.planOf(pod); p != nil {
				line += " of " + string(p.UID)
			}
			who = append(who, line)
		}
		slices.Sort(who)
		all[node] = strings.Join(who, "\n")
	}
	return all
}
