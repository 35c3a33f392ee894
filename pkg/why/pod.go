package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
)

// OfPod says why a pod is pending, does not run, or is where it is.
func OfPod(c *Case, pod *corev1.Pod) Answer { return first(c, "pod/"+pod.Name, pod, podCauses()) }

// podCauses are in the order of a pod's way: gates, its placement, claims, the scheduler, the kubelet, its devices.
func podCauses() []cause[*corev1.Pod] {
	return slices.Concat(
		[]cause[*corev1.Pod]{
			{
				reason: "Terminating", is: func(_ *Case, p *corev1.Pod) bool { return !p.DeletionTimestamp.IsZero() },
				cause: says[*corev1.Pod]("The pod was deleted, and ends"),
				evidence: func(_ *Case, p *corev1.Pod) []string {
					return lines("metadata.deletionTimestamp is "+p.DeletionTimestamp.UTC().Format(timeLayout), listed("finalizers", p.Finalizers))
				},
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{podCommand("get", p)} },
			},
			{
				reason: "PlacementMissing", is: func(c *Case, p *corev1.Pod) bool {
					return binding.Gated(p) && c.placementOf(p) == nil && c.State.Sees(holding.Placements)
				},
				cause: func(_ *Case, p *corev1.Pod) string {
					return "The pod waits for a placement that does not exist: " + p.Labels[v1alpha1.LabelPlacement]
				},
				evidence: func(_ *Case, p *corev1.Pod) []string { return []string{gatesText(p)} },
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{"kubectl get mp -n " + p.Namespace} },
			},
			{
				is:  func(c *Case, p *corev1.Pod) bool { return binding.Gated(p) && c.unplaced(p) },
				via: func(c *Case, p *corev1.Pod) Answer { return OfPlacement(c, c.placementOf(p)) },
				evidence: func(_ *Case, p *corev1.Pod) []string {
					return []string{"asked of placement " + p.Labels[v1alpha1.LabelPlacement] + ": " + gatesText(p)}
				},
			},
			{
				reason: "NotBound", is: func(c *Case, p *corev1.Pod) bool { return binding.Gated(p) && len(c.complaints(p)) > 0 },
				cause: func(c *Case, p *corev1.Pod) string {
					return "The operator gives the pod no place: " + c.complaints(p)[0].Reason
				},
				evidence: func(c *Case, p *corev1.Pod) []string { return append(eventTexts(c.complaints(p)), gatesText(p)) },
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{podCommand("describe", p)} },
			},
			{
				reason: "Gated", is: func(_ *Case, p *corev1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 },
				cause:    says[*corev1.Pod]("The pod waits for a gate to be lifted"),
				evidence: func(_ *Case, p *corev1.Pod) []string { return []string{gatesText(p)} },
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{podCommand("describe", p)} },
			},
		},
		claimCauses,
		[]cause[*corev1.Pod]{
			{
				is: func(c *Case, p *corev1.Pod) bool {
					return unscheduled(p) && boundTo(p) != "" && c.closed(boundTo(p)) != ""
				},
				via: func(c *Case, p *corev1.Pod) Answer { return OfNode(c, boundTo(p)) },
				evidence: func(_ *Case, p *corev1.Pod) []string {
					return lines("its place is on node "+boundTo(p), conditionText(p, corev1.PodScheduled))
				},
			},
			{
				reason: "Unschedulable", is: func(_ *Case, p *corev1.Pod) bool { return unscheduled(p) },
				cause: says[*corev1.Pod]("The scheduler finds no node for the pod"),
				evidence: func(_ *Case, p *corev1.Pod) []string {
					return lines(conditionText(p, corev1.PodScheduled), bindingText(p))
				},
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{podCommand("describe", p)} },
			},
			{
				is:       func(c *Case, p *corev1.Pod) bool { return c.robbed(p) != nil },
				via:      func(c *Case, p *corev1.Pod) Answer { return OfDevice(c, c.robbed(p)) },
				evidence: func(_ *Case, p *corev1.Pod) []string { return lines("the pod was bound to the device", statusText(p)) },
			},
			{
				reason: "RefusedByKubelet", is: func(_ *Case, p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" },
				cause:    func(_ *Case, p *corev1.Pod) string { return "The kubelet ended the pod: " + p.Status.Reason },
				evidence: func(_ *Case, p *corev1.Pod) []string { return lines(sentence(p.Status.Message)) },
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{podCommand("delete", p)} },
			},
			{
				reason: "ContainerWaits", is: func(_ *Case, p *corev1.Pod) bool { return waits(p) != nil },
				cause: func(_ *Case, p *corev1.Pod) string {
					is := waits(p)
					return fmt.Sprintf("Container %s does not start: %s", is.Name, is.State.Waiting.Reason)
				},
				evidence: func(c *Case, p *corev1.Pod) []string {
					return append(lines(sentence(waits(p).State.Waiting.Message)), eventTexts(c.complaints(p))...)
				},
				commands: func(_ *Case, p *corev1.Pod) []string {
					return []string{podCommand("describe", p), podCommand("logs", p) + " -c " + waits(p).Name + " --previous"}
				},
			},
			{
				reason: "NotStarted", is: func(_ *Case, p *corev1.Pod) bool { return p.Status.Phase == corev1.PodPending || p.Status.Phase == "" },
				cause: func(_ *Case, p *corev1.Pod) string {
					return "The kubelet of node " + p.Spec.NodeName + " has not started the pod"
				},
				evidence: func(c *Case, p *corev1.Pod) []string { return append(eventTexts(c.complaints(p)), statusText(p)) },
				commands: func(_ *Case, p *corev1.Pod) []string {
					return []string{podCommand("describe", p), "kubectl rankwright why node/" + p.Spec.NodeName}
				},
			},
			{
				reason: "Ended", is: func(_ *Case, p *corev1.Pod) bool {
					return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
				},
				cause: func(_ *Case, p *corev1.Pod) string { return "The pod ended: " + string(p.Status.Phase) },
				evidence: func(c *Case, p *corev1.Pod) []string {
					return append(lines(sentence(p.Status.Message)), eventTexts(c.complaints(p))...)
				},
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{podCommand("logs", p)} },
			},
			{
				reason: "NotReady", is: func(_ *Case, p *corev1.Pod) bool { return !running(p) },
				cause: says[*corev1.Pod]("The pod runs, and is not ready"),
				evidence: func(c *Case, p *corev1.Pod) []string {
					return append(lines(conditionText(p, corev1.PodReady)), eventTexts(c.complaints(p))...)
				},
				commands: func(_ *Case, p *corev1.Pod) []string { return []string{podCommand("logs", p)} },
			},
			{
				reason: "Running", is: func(*Case, *corev1.Pod) bool { return true },
				cause:    func(_ *Case, p *corev1.Pod) string { return "The pod runs on node " + p.Spec.NodeName },
				evidence: func(_ *Case, p *corev1.Pod) []string { return lines(bindingText(p)) },
				commands: func(_ *Case, p *corev1.Pod) []string {
					if name := p.Labels[v1alpha1.LabelPlacement]; name != "" {
						return []string{fmt.Sprintf("kubectl rankwright explain mp/%s -n %s", name, p.Namespace)}
					}
					return []string{podCommand("describe", p)}
				},
			},
		},
	)
}

const timeLayout = "2006-01-02T15:04:05Z"

func podCommand(verb string, p *corev1.Pod) string {
	if verb == "logs" {
		return commandf("logs %s -n %s", p.Name, p.Namespace)
	}
	return commandf("%s pod %s -n %s", verb, p.Name, p.Namespace)
}

// placementOf is the placement that a pod names; nil where there is none.
func (c *Case) placementOf(p *corev1.Pod) *v1alpha1.ModelPlacement {
	return c.placement(p.Namespace, p.Labels[v1alpha1.LabelPlacement])
}

// unplaced says whether a pod's placement has no plan in force.
func (c *Case) unplaced(p *corev1.Pod) bool {
	placement := c.placementOf(p)
	return placement != nil && !slices.ContainsFunc(c.State.Plans, func(plan v1alpha1.ShardingPlan) bool {
		return plan.Namespace == p.Namespace && plan.Spec.Placement.Is(placement) && plan.InForce()
	})
}

// complaints are warnings about a pod.
func (c *Case) complaints(p *corev1.Pod) []*corev1.Event {
	return c.warnings(func(e *corev1.Event) bool {
		return e.InvolvedObject.Kind == "Pod" && e.InvolvedObject.Namespace == p.Namespace && e.InvolvedObject.Name == p.Name
	})
}

// robbed is a device of a pod that runs elsewhere or is not well: one that a stranger has, else one that takes no work.
func (c *Case) robbed(p *corev1.Pod) *holding.Device {
	if running(p) {
		return nil
	}
	var unwell *holding.Device
	for _, id := range fleet.BoundTo(p) {
		d := c.Device(cmp.Or(p.Spec.NodeName, boundTo(p)), id)
		switch {
		case d == nil:
		case len(c.strangers(d)) > 0:
			return d
		case unusable(d) && unwell == nil:
			unwell = d
		}
	}
	return unwell
}

// boundTo is the node that the operator bound a pod to; empty where it did not.
func boundTo(p *corev1.Pod) string { return p.Annotations[binding.AnnotationNode] }

func unscheduled(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

func running(p *corev1.Pod) bool {
	return p.DeletionTimestamp.IsZero() && slices.ContainsFunc(p.Status.Conditions, func(is corev1.PodCondition) bool {
		return is.Type == corev1.PodReady && is.Status == corev1.ConditionTrue
	})
}

// waits is the first container that waits for something but its turn; nil where none does.
func waits(p *corev1.Pod) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			if waiting := list[i].State.Waiting; waiting != nil && waiting.Reason != "PodInitializing" && waiting.Reason != "ContainerCreating" {
				return &list[i]
			}
		}
	}
	return nil
}

func gatesText(p *corev1.Pod) string {
	var names []string
	for _, gate := range p.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return listed("scheduling gates", names)
}

func listed(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return what + ": " + strings.Join(names, ", ")
}

func conditionText(p *corev1.Pod, kind corev1.PodConditionType) string {
	for _, is := range p.Status.Conditions {
		if is.Type == kind {
			return sentence(fmt.Sprintf("condition %s is %s: %s", kind, is.Status, strings.TrimPrefix(is.Reason+": "+is.Message, ": ")))
		}
	}
	return "the pod has no condition " + string(kind)
}

func statusText(p *corev1.Pod) string {
	return strings.TrimSuffix("its phase is "+string(p.Status.Phase)+": "+sentence(p.Status.Message), ": ")
}

func bindingText(p *corev1.Pod) string {
	if boundTo(p) == "" {
		return ""
	}
	return fmt.Sprintf("the operator bound it to node %s, devices %s, by plan %s", boundTo(p), p.Annotations[v1alpha1.AnnotationDevices], p.Annotations[binding.AnnotationBoundBy])
}
