package binding

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/cpuset"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// Bind gives a gated pod its node and takes the gate away. The offer must be complete. The error is a Refusal where the pod
// does not fit its place; the pod is as it was then.
func Bind(pod *corev1.Pod, offer *Offer) (*launch.Pod, error) {
	place, asked, err := offer.assign(pod)
	if err != nil {
		return nil, err
	}
	if err := agree(pod, asked, false); err != nil {
		return nil, err
	}
	if err := confine(pod, place.Node); err != nil {
		return nil, err
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, LabelIndex, strconv.Itoa(place.Index))
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha1.LabelPlan, offer.Plan.Name)
	for key, value := range map[string]string{
		AnnotationReplica:   strconv.Itoa(place.Copy),
		AnnotationFirstRank: strconv.Itoa(place.Ranks[0]),
		AnnotationRanks:     cpuset.New(place.Ranks...).String(), // as Linux lists CPUs: 0-3,8
		AnnotationDevices:   devicesText(place.Devices),
	} {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
	}
	pod.Spec.SchedulingGates = slices.DeleteFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == gate })
	return place, nil
}

// confine adds the node to what the pod requires of nodes. Of a gated pod only this may change: terms, of which one has to
// hold, may get requirements, and there may be no new term unless there is none. A term without a requirement matches no
// node and stays so.
func confine(pod *corev1.Pod, node string) error {
	is := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := pod.Spec.Affinity.NodeAffinity
	required := affinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{is}}},
		}
		return nil
	}
	confined := false
	for i := range required.NodeSelectorTerms {
		if term := &required.NodeSelectorTerms[i]; len(term.MatchExpressions)+len(term.MatchFields) > 0 {
			term.MatchFields = append(term.MatchFields, is)
			confined = true
		}
	}
	if !confined {
		return refuse(ReasonAffinityEmpty, "required node affinity has only empty terms, which match no node: take them out")
	}
	return nil
}
