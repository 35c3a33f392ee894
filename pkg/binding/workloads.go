package binding

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	position func(*corev1.Pod) (Position, error)
}

// workloads are tried in this order: a JobSet or a LeaderWorkerSet makes its pods through Jobs or StatefulSets, so it comes first.
var workloads = []workload{
	{"LeaderWorkerSet", labelled(lwsName), lwsPosition},
	{"JobSet", labelled(jobSetName), jobSetPosition},
	{"Kubeflow", labelled(kubeflowType, kubeflowRole), kubeflowPosition},
	{"Ray", labelled(rayCluster), rayPosition},
	{"Job", controlledBy("Job"), jobPosition},
	{"StatefulSet", controlledBy("StatefulSet"), statefulSetPosition},
	{"its author", func(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil }, authorPosition},
}

// PositionOf returns a pod's position and the name of the workload that made it. What cannot be known is a Refusal.
func PositionOf(pod *corev1.Pod) (Position, string, error) {
	for _, w := range workloads {
		if w.made(pod) {
			position, err := w.position(pod)
			return position, w.name, err
		}
	}
	owner := metav1.GetControllerOf(pod)
	return Position{}, "", refuse(ReasonWorkloadUnknown,
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

// jobPosition reads the completion index, which the Job controller writes as a label and as an annotation.
func jobPosition(pod *corev1.Pod) (Position, error) {
	member, err := completionIndex(pod)
	return Position{Member: member}, err
}

func completionIndex(pod *corev1.Pod) (int32, error) {
	if index, has := pod.Labels[jobIndex]; has {
		return parseIndex("label "+jobIndex, index)
	}
	if index, has := pod.Annotations[jobIndex]; has {
		return parseIndex("annotation "+jobIndex, index)
	}
	return 0, refuse(ReasonIndexUnknown, "the pod has no %s: set completionMode: Indexed in the Job's spec", jobIndex)
}

// statefulSetPosition reads the label, and the ordinal of the name where an old cluster sets none.
func statefulSetPosition(pod *corev1.Pod) (Position, error) {
	if index, has := pod.Labels[statefulSetIndex]; has {
		member, err := parseIndex("label "+statefulSetIndex, index)
		return Position{Member: member}, err
	}
	ordinals, err := ordinalsOf(pod, metav1.GetControllerOf(pod).Name)
	if err != nil {
		return Position{}, err
	}
	if len(ordinals) != 1 {
		return Position{}, refuse(ReasonIndexUnknown, "name %s: a StatefulSet's pods are named by set and ordinal", pod.Name)
	}
	return Position{Member: ordinals[0]}, nil
}

// lwsPosition reads the pod's name: NAME-GROUP is a leader and NAME-GROUP-WORKER a worker. LeaderWorkerSet's own webhook
// derives its labels from the name too, and may do so after this one.
func lwsPosition(pod *corev1.Pod) (Position, error) {
	ordinals, err := ordinalsOf(pod, pod.Labels[lwsName])
	if err != nil {
		return Position{}, err
	}
	var member int32
	switch len(ordinals) {
	case 1:
	case 2:
		member = ordinals[1]
	default:
		return Position{}, refuse(ReasonIndexUnknown, "name %s: a LeaderWorkerSet's pods are named by set, group and worker", pod.Name)
	}
	if written, has := pod.Labels[lwsGroupIndex]; has && written != strconv.Itoa(int(ordinals[0])) {
		return Position{}, refuse(ReasonIndexUnknown, "label %s is %s and the name %s says %d", lwsGroupIndex, written, pod.Name, ordinals[0])
	}
	position := grouped(ordinals[0], member)
	position.Size, err = parseIndex("annotation "+lwsSize, pod.Annotations[lwsSize])
	return position, err
}

// jobSetPosition reads the Job's index in its group of replicated Jobs and the pod's completion index in the Job. How many
// pods each Job has does not stand at the pod.
func jobSetPosition(pod *corev1.Pod) (Position, error) {
	member, err := completionIndex(pod)
	if err != nil {
		return Position{}, err
	}
	group, err := parseIndex("label "+jobSetIndex, pod.Labels[jobSetIndex])
	if err != nil {
		return Position{}, err
	}
	position := grouped(group, member)
	position.Groups, err = parseIndex("label "+jobSetGroups, pod.Labels[jobSetGroups])
	if err == nil && position.Groups == 0 {
		err = refuse(ReasonIndexUnknown, "label %s is 0", jobSetGroups)
	}
	return position, err
}

// kubeflowFirst is the index of the first pod of each type of replica. Launchers hold no rank, and other types of job do
// not say how their types are ordered.
var kubeflowFirst = map[string]map[string]int32{
	"PyTorchJob": {"master": 0, "worker": 1},
	"MPIJob":     {"worker": 0},
	"JAXJob":     {"worker": 0},
}

// kubeflowReplica returns the type of replica. The training operator labels every pod with it; the MPI operator gives its pods
// a role alone.
func kubeflowReplica(pod *corev1.Pod) string {
	if replica, has := pod.Labels[kubeflowType]; has {
		return strings.ToLower(replica)
	}
	return pod.Labels[kubeflowRole]
}

func kubeflowPosition(pod *corev1.Pod) (Position, error) {
	kind := "pod without a controller"
	if owner := metav1.GetControllerOf(pod); owner != nil {
		kind = owner.Kind
	}
	replica := kubeflowReplica(pod)
	first, known := kubeflowFirst[kind][replica]
	if !known {
		return Position{}, refuse(ReasonWorkloadUnknown, "replica type %q of a %s has no rank: take the label off this replica, or use one of %s",
			replica, kind, strings.Join(slices.Sorted(maps.Keys(kubeflowFirst)), ", "))
	}
	index, err := parseIndex("label "+kubeflowIndex, pod.Labels[kubeflowIndex])
	if kind == "PyTorchJob" && replica == "worker" && !ranksFromMaster(pod) {
		first = 0
	}
	return Position{Member: first + index}, err
}

// ranksFromMaster says whether the PyTorchJob has a master: only then does the training operator write RANK, and only then
// does the workers' count begin at 1.
func ranksFromMaster(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "RANK" })
	})
}

func rayPosition(pod *corev1.Pod) (Position, error) {
	for _, key := range []string{rayReplica, rayHost} {
		if _, has := pod.Labels[key]; !has {
			return Position{}, refuse(ReasonIndexUnknown,
				"the pod has no label %s: KubeRay sets it for workers with numOfHosts above 1 under its feature gate RayMultiHostIndexing; label no head", key)
		}
	}
	group, err := parseIndex("label "+rayReplica, pod.Labels[rayReplica])
	if err != nil {
		return Position{}, err
	}
	member, err := parseIndex("label "+rayHost, pod.Labels[rayHost])
	return grouped(group, member), err
}

func authorPosition(pod *corev1.Pod) (Position, error) {
	index, has := pod.Labels[LabelIndex]
	if !has {
		return Position{}, refuse(ReasonIndexUnknown, "the pod has no controller: set the label %s to its index", LabelIndex)
	}
	member, err := parseIndex("label "+LabelIndex, index)
	return Position{Member: member}, err
}

// ordinalsOf returns the numbers that follow a set's name in a pod's name.
func ordinalsOf(pod *corev1.Pod, set string) ([]int32, error) {
	rest, isOurs := strings.CutPrefix(pod.Name, set+"-")
	if !isOurs {
		return nil, refuse(ReasonIndexUnknown, "name %q: it does not begin with %s-, and names of generateName are not known yet", pod.Name, set)
	}
	var ordinals []int32
	for part := range strings.SplitSeq(rest, "-") {
		ordinal, err := parseIndex("ordinal of name "+pod.Name, part)
		if err != nil {
			return nil, err
		}
		ordinals = append(ordinals, ordinal)
	}
	return ordinals, nil
}

// parseIndex reads a number as the workloads write it: decimal, without sign or leading zero.
func parseIndex(what, text string) (int32, error) {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 0 || number > maxIndex || strconv.FormatInt(number, 10) != text {
		return 0, refuse(ReasonIndexUnknown, "%s is %q and not a number from 0 to %d", what, text, maxIndex)
	}
	return int32(number), nil
}
