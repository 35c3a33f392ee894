package verification

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// statesOf returns what is known of each pod of a mesh, and when the first pod started that was bound by the mesh's plan. What pods said before they
// were asked to verify anew is not known, and they did not start for it.
func statesOf(mesh *v1alpha1.DeviceMesh, seats []launch.Pod, pods []corev1.Pod, asked *v1alpha1.Verification) ([]verification.State, time.Time) {
	// Of several pods with the same index the youngest counts, since it replaced the others.
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	byIndex := map[string]*corev1.Pod{}
	var began time.Time
	for i := range pods {
		p := &pods[i]
		if index := p.Labels[binding.LabelIndex]; byIndex[index] == nil {
			byIndex[index] = p
		}
		started := p.Status.StartTime
		if by := p.Annotations[binding.AnnotationBoundBy]; started == nil || by != "" && by != mesh.Spec.Plan || !asked.Counts(*started) {
			continue
		}
		if began.IsZero() || started.Time.Before(began) {
			began = started.Time
		}
	}
	states := make([]verification.State, len(seats))
	for i := range seats {
		states[i] = stateOf(mesh, &seats[i], byIndex[strconv.Itoa(seats[i].Index)], asked)
	}
	return states, began
}

func stateOf(mesh *v1alpha1.DeviceMesh, seat *launch.Pod, pod *corev1.Pod, asked *v1alpha1.Verification) verification.State {
	const most = 16
	s := verification.State{Copy: int32(seat.Copy), End: v1alpha1.MeshEnd{
		Index: int32(seat.Index), Node: seat.Node, FirstRank: int32(seat.Ranks[0]), Devices: seat.Devices[:min(len(seat.Devices), most)],
	}}
	if pod == nil {
		s.Waits = "there is no such pod"
		return s
	}
	s.End.Name = pod.Name
	status := verifier(pod)
	if status == nil {
		s.Waits = waits(pod)
		return s
	}
	ended := status.State.Terminated
	if ended == nil {
		ended = status.LastTerminationState.Terminated
	}
	if ended == nil {
		s.Waits = containerWaits(status)
		return s
	}
	if !asked.Counts(ended.FinishedAt) {
		s.Waits = "it verified before it was asked to verify anew: make it anew"
		return s
	}
	report, err := verification.ParseReport(ended.Message)
	switch {
	case err != nil && ended.Message == "":
		s.Invalid = fmt.Sprintf("container %s ended with exit code %d (%s) and said nothing", verification.Container, ended.ExitCode, ended.Reason)
	case err != nil:
		s.Invalid = err.Error()
	// A pod that kept its place through later plans verified it under the plan by which it was bound.
	case report.Plan != mesh.Spec.Plan && report.Plan != pod.Annotations[binding.AnnotationBoundBy] || report.Copy != s.Copy || report.Pod != s.End.Index:
		s.Invalid = fmt.Sprintf("report is that of pod %d in copy %d: a pod speaks for itself alone, and of plan %s", report.Pod, report.Copy, mesh.Spec.Plan)
	default:
		s.Report = report
	}
	return s
}

// verifier is the status of the container that verifies; nil where there is none yet.
func verifier(pod *corev1.Pod) *corev1.ContainerStatus {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	at := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == verification.Container })
	if at < 0 {
		return nil
	}
	return &statuses[at]
}

// waits says why a pod has no status of a verifying container.
func waits(pod *corev1.Pod) string {
	verifies := func(c corev1.Container) bool { return c.Name == verification.Container }
	switch {
	case !slices.ContainsFunc(pod.Spec.InitContainers, verifies) && !slices.ContainsFunc(pod.Spec.Containers, verifies):
		return "it has no container " + verification.Container + ", since it was made before verification was asked for"
	case len(pod.Spec.SchedulingGates) > 0:
		return "it waits for its place"
	case pod.Spec.NodeName == "":
		return "it is not scheduled"
	default:
		return "the kubelet of its node has not started it"
	}
}

func containerWaits(status *corev1.ContainerStatus) string {
	if w := status.State.Waiting; w != nil && w.Reason != "" {
		return "its container " + status.Name + " waits: " + w.Reason
	}
	if status.State.Running != nil {
		return "it verifies"
	}
	return "its container " + status.Name + " has not started"
}
