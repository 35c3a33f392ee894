package fleet

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
)

// Tainted returns the first NoExecute taint of a node that some pod of a placement does not tolerate; nil where there is none. Where there
// are no pods, it is not known what they will tolerate.
func Tainted(h *Host, pods []corev1.Pod) *corev1.Taint {
	for i := range h.Evicting {
		taint := &h.Evicting[i]
		tolerates := func(t corev1.Toleration) bool {
			return t.TolerationSeconds == nil && t.ToleratesTaint(logr.Discard(), taint, true)
		}
		if slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !slices.ContainsFunc(pod.Spec.Tolerations, tolerates) }) {
			return taint
		}
	}
	return nil
}
