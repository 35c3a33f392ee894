package binding

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxIndex is far above the pods of any placement, and keeps sums of indices from overflowing.
const maxIndex = 1 << 20

// Labels and annotations of the workloads, with where they are documented:
// Job and StatefulSet in kubernetes.io/docs/reference/labels-annotations-taints, LeaderWorkerSet in its
// docs/reference/labels-annotations-and-environment-variables, JobSet in its API reference, Kubeflow in
// pkg/apis/kubeflow.org/v1/common_types.go of the training operator and pkg/apis/kubeflow/v2beta1/constants.go of the MPI
// operator, KubeRay in Ray's user guide of TPUs.
const (
	jobIndex         = "batch.kubernetes.io/job-completion-index"
	statefulSetIndex = "apps.kubernetes.io/pod-index"

	lwsName       = "leaderworkerset.sigs.k8s.io/name"
	lwsGroupIndex = "leaderworkerset.sigs.k8s.io/group-index"
	lwsSize       = "leaderworkerset.sigs.k8s.io/size"

	jobSetName   = "jobset.sigs.k8s.io/jobset-name"
	jobSetIndex  = "jobset.sigs.k8s.io/job-index"
	jobSetGroups = "jobset.sigs.k8s.io/replicatedjob-replicas"

	kubeflowType  = "training.kubeflow.org/replica-type"
	kubeflowRole  = "training.kubeflow.org/job-role"
	kubeflowIndex = "training.kubeflow.org/replica-index"

	rayCluster = "ray.io/cluster"
	rayReplica = "ray.io/worker-group-replica-index"
	rayHost    = "ray.io/replica-host-index"
)

// lwsVariables are the variables that LeaderWorkerSet's webhook puts in front of a container's other variables.
var lwsVariables = []string{"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}

// workload is a kind of controller that makes pods.
type workload struct {
	name     string
	made     func(*corev1.Pod) bool
	position func(*reading) Position
	// kind is the workload's, and nameLabel the label of its pods that has its name; both are empty where the pod's controller is
	// the workload.
	kind      schema.GroupKind
	nameLabel string
}

// workloads are tried in this order: a JobSet or a LeaderWorkerSet makes its pods through Jobs or StatefulSets, so it comes first.
var workloads = []workload{
	{"LeaderWorkerSet", labelled(lwsName), lwsPosition, schema.GroupKind{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}, lwsName},
	{"JobSet", labelled(jobSetName), jobSetPosition, schema.GroupKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}, jobSetName},
	{"Kubeflow", labelled(kubeflowType, kubeflowRole), kubeflowPosition, schema.GroupKind{}, ""},
	{"Ray", labelled(rayCluster), rayPosition, schema.GroupKind{Group: "ray.io", Kind: "RayCluster"}, rayCluster},
	{"Job", controlledBy("Job"), jobPosition, schema.GroupKind{}, ""},
	{"StatefulSet", controlledBy("StatefulSet"), statefulSetPosition, schema.GroupKind{}, ""},
	{"its author", func(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil }, authorPosition, schema.GroupKind{}, ""},
}

// PositionOf returns a pod's position and the name of the workload that made it. What cannot be known is a Refusal.
func PositionOf(pod *corev1.Pod) (Position, string, error) {
	w, err := workloadOf(pod)
	if err != nil {
		return Position{}, "", err
	}
	r := reading{pod: pod}
	position := w.position(&r)
	return position, w.name, r.err
}

// workloadOf returns the kind of controller that made a pod. One that does not number its pods is a Refusal.
func workloadOf(pod *corev1.Pod) (*workload, error) {
	for i := range workloads {
		if workloads[i].made(pod) {
			return &workloads[i], nil
		}
	}
	owner := metav1.GetControllerOf(pod)
	return nil, refuse(ReasonWorkloadUnknown,
		"pods of %s %s have no index: use a StatefulSet, an Indexed Job, LeaderWorkerSet, JobSet, Kubeflow or Ray", owner.Kind, owner.Name)
}

// labelled says whether a pod has one of the labels.
func labelled(keys ...string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, has := pod.Labels[key]; return has })
	}
}

func controlledBy(kind string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOf(pod)
		return owner != nil && owner.Kind == kind
	}
}

// reading reads numbers of a pod.
type reading struct {
	pod *corev1.Pod
	// err is the first Refusal; what was read is not to be used then.
	err error
}

func (r *reading) refuse(reason, format string, args ...any) {
	if r.err == nil {
		r.err = refuse(reason, format, args...)
	}
}

// number reads a number as the workloads write it: decimal, without sign or leading zero.
func (r *reading) number(what, text string) int32 {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 0 || number > maxIndex || strconv.FormatInt(number, 10) != text {
		r.refuse(ReasonIndexUnknown, "%s is %q and not a number from 0 to %d", what, text, maxIndex)
	}
	return int32(number)
}

func (r *reading) label(key string) int32 { return r.number("label "+key, r.pod.Labels[key]) }

// required reads a label; missing says what to do where there is none, and has a place for the label's name.
func (r *reading) required(key, missing string) int32 {
	if _, has := r.pod.Labels[key]; !has {
		r.refuse(ReasonIndexUnknown, missing, key)
	}
	return r.label(key)
}

// completionIndex is the pod's index in its Job, which the Job controller writes as a label and as an annotation.
func (r *reading) completionIndex() int32 {
	if index, annotated := r.pod.Annotations[jobIndex]; annotated && r.pod.Labels[jobIndex] == "" {
		return r.number("annotation "+jobIndex, index)
	}
	return r.required(jobIndex, "the pod has no %s: set completionMode: Indexed in the Job's spec")
}

// ordinals are the numbers that follow a set's name in a pod's name, at most so many; named says how such pods are named.
func (r *reading) ordinals(set string, most int, named string) (numbers [2]int32) {
	rest, isOurs := strings.CutPrefix(r.pod.Name, set+"-")
	parts := strings.Split(rest, "-")
	switch {
	case !isOurs:
		r.refuse(ReasonIndexUnknown, "name %q: it does not begin with %s-, and names of generateName are not known yet", r.pod.Name, set)
	case len(parts) > most:
		r.refuse(ReasonIndexUnknown, "name %s: %s", r.pod.Name, named)
	default:
		for i, part := range parts {
			numbers[i] = r.number("ordinal of name "+r.pod.Name, part)
		}
	}
	return numbers
}

func jobPosition(r *reading) Position { return Position{Member: r.completionIndex()} }

// statefulSetPosition reads the label, and the ordinal of the name where an old cluster sets none.
func statefulSetPosition(r *reading) Position {
	if _, has := r.pod.Labels[statefulSetIndex]; has {
		return Position{Member: r.label(statefulSetIndex)}
	}
	return Position{Member: r.ordinals(metav1.GetControllerOf(r.pod).Name, 1, "a StatefulSet's pods are named by set and ordinal")[0]}
}

// lwsPosition reads the pod's name: NAME-GROUP is a leader and NAME-GROUP-WORKER a worker. LeaderWorkerSet's own webhook
// derives its labels from the name too, and may do so after this one.
func lwsPosition(r *reading) Position {
	ordinals := r.ordinals(r.pod.Labels[lwsName], 2, "a LeaderWorkerSet's pods are named by set, group and worker")
	if written, has := r.pod.Labels[lwsGroupIndex]; has && written != strconv.Itoa(int(ordinals[0])) {
		r.refuse(ReasonIndexUnknown, "label %s is %s and the name %s says %d", lwsGroupIndex, written, r.pod.Name, ordinals[0])
	}
	position := grouped(ordinals[0], ordinals[1])
	position.Size = r.number("annotation "+lwsSize, r.pod.Annotations[lwsSize])
	return position
}

// jobSetPosition reads the Job's index in its group of replicated Jobs and the pod's completion index in the Job. How many
// pods each Job has does not stand at the pod.
func jobSetPosition(r *reading) Position {
	member := r.completionIndex()
	position := grouped(r.label(jobSetIndex), member)
	if position.Groups = r.label(jobSetGroups); position.Groups == 0 {
		r.refuse(ReasonIndexUnknown, "label %s is 0", jobSetGroups)
	}
	return position
}

// kubeflowFirst is the index of the first pod of each type of replica. Launchers hold no rank, and other types of job do
// not say how their types are ordered.
var kubeflowFirst = map[string]map[string]int32{
	"PyTorchJob": {"master": 0, "worker": 1},
	"MPIJob":     {"worker": 0},
	"JAXJob":     {"worker": 0},
}

// kubeflowPosition reads the type of replica and its index. The training operator labels every pod with the type; the MPI
// operator gives its pods a role alone.
func kubeflowPosition(r *reading) Position {
	kind, replica := "pod without a controller", r.pod.Labels[kubeflowRole]
	if owner := metav1.GetControllerOf(r.pod); owner != nil {
		kind = owner.Kind
	}
	if of, has := r.pod.Labels[kubeflowType]; has {
		replica = strings.ToLower(of)
	}
	first, known := kubeflowFirst[kind][replica]
	if !known {
		r.refuse(ReasonWorkloadUnknown, "replica type %q of a %s has no rank: take the label off this replica, or use one of %s",
			replica, kind, strings.Join(slices.Sorted(maps.Keys(kubeflowFirst)), ", "))
	}
	if kind == "PyTorchJob" && replica == "worker" && !ranksFromMaster(r.pod) {
		first = 0
	}
	return Position{Member: first + r.label(kubeflowIndex)}
}

// ranksFromMaster says whether the PyTorchJob has a master: only then does the training operator write RANK, and only then
// does the workers' count begin at 1.
func ranksFromMaster(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "RANK" })
	})
}

func rayPosition(r *reading) Position {
	const missing = "the pod has no label %s: KubeRay sets it for workers with numOfHosts above 1 under its feature gate RayMultiHostIndexing; label no head"
	group := r.required(rayReplica, missing)
	return grouped(group, r.required(rayHost, missing))
}

func authorPosition(r *reading) Position {
	return Position{Member: r.required(LabelIndex, "the pod has no controller: set the label %s to its index")}
}
