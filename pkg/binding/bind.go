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
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha1.LabelWorker, strconv.Itoa(place.Worker))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationBoundBy, offer.Plan.Name)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationAdmittedFor, string(offer.Placement.UID))
	for key, value := range offer.marks(place) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
	}
	pod.Spec.SchedulingGates = slices.DeleteFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == gate })
	return place, nil
}

// Carry takes a bound pod over into the plan in force where the pod has the same place there: the same placement, copy, ranks of a mesh
// of the same shape, devices and node, and files that say the same. It says whether it did; a pod that it did not is as it was. The offer must be complete. The error is a
// Refusal where the plan has no such place for the pod.
func Carry(pod *corev1.Pod, offer *Offer) (bool, error) {
	place, asked, err := offer.assign(pod)
	if err == nil {
		err = agree(pod, asked, false)
	}
	if err != nil {
		return false, err
	}
	for key, value := range offer.marks(place) {
		if pod.Annotations[key] != value {
			return false, nil
		}
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha1.LabelPlan, offer.Plan.Name)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha1.LabelWorker, strconv.Itoa(place.Worker))
	return true, nil
}

// marks are the annotations by which a pod of a place says what it was bound to. Nothing in them names the plan.
func (o *Offer) marks(place *launch.Pod) map[string]string {
	files := ""
	if o.Files != nil {
		files = o.Files(place.Index)
	}
	shape, _ := o.Mesh.Spec.ShapeOf(int32(place.Copy))
	return map[string]string{
		v1alpha1.AnnotationPlacementUID: string(o.Placement.UID),
		AnnotationReplica:               strconv.Itoa(place.Copy),
		AnnotationFirstRank:             strconv.Itoa(place.Ranks[0]),
		AnnotationRanks:                 cpuset.New(place.Ranks...).String(), // as Linux lists CPUs: 0-3,8
		v1alpha1.AnnotationDevices:      DevicesText(place.Devices),
		AnnotationShape:                 v1alpha1.ShapeText(shape.Dimensions),
		AnnotationNode:                  place.Node,
		AnnotationFiles:                 files,
	}
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
