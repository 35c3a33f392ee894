package readiness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

// places are four pods of two copies, each with a device of a node of its own.
func places() []launch.Pod {
	var all []launch.Pod
	for i := range 4 {
		all = append(all, launch.Pod{Index: i, Copy: i / 2, Worker: i % 2, Node: fmt.Sprintf("n%d", i), Devices: []v1alpha1.DeviceID{"gpu"}})
	}
	return all
}

// running is the pod of an index, as it is when it runs as planned, and then changed.
func running(index int, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("llm-%d", index),
			Labels: map[string]string{
				v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1", v1alpha1.LabelWorker: fmt.Sprint(index % 2), binding.LabelIndex: fmt.Sprint(index),
			},
			Annotations: map[string]string{
				v1alpha1.AnnotationPlacementUID: "uid", v1alpha1.AnnotationDevices: "gpu", binding.AnnotationReplica: fmt.Sprint(index / 2),
			},
		},
		Spec:   corev1.PodSpec{NodeName: fmt.Sprintf("n%d", index)},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func waits(p *corev1.Pod) {
	p.Spec.SchedulingGates, p.Spec.NodeName, p.Status = []corev1.PodSchedulingGate{{Name: v1alpha1.LabelPlacement}}, "", corev1.PodStatus{Phase: corev1.PodPending}
}

func unready(p *corev1.Pod)     { p.Status.Conditions = nil }
func succeeded(p *corev1.Pod)   { unready(p); p.Status.Phase = corev1.PodSucceeded }
func away(p *corev1.Pod)        { p.Spec.NodeName = "elsewhere" }
func otherDevice(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationDevices] = "other" }
func terminating(p *corev1.Pod) {
	p.DeletionTimestamp = &metav1.Time{}
	*p.DeletionTimestamp = metav1.Unix(1, 0)
}
func foreign(p *corev1.Pod)            { p.Annotations = nil }
func ofAnotherPlacement(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationPlacementUID] = "before" }

// placed is a placement with a plan in force for its spec.
func placed(conditions ...metav1.Condition) *v1alpha1.ModelPlacement {
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: "uid", Generation: 2}}
	p.Status.Plan = "llm-1"
	p.Status.Conditions = append([]metav1.Condition{{
		Type: v1alpha1.ConditionPlaced, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlaced, Message: "placed", ObservedGeneration: 2,
	}}, conditions...)
	return p
}

func because(reason string, status metav1.ConditionStatus) func(*v1alpha1.ModelPlacement) {
	return func(p *v1alpha1.ModelPlacement) {
		p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason, p.Status.Conditions[0].Message = status, reason, "why"
	}
}

func drift(enforcement v1alpha1.Enforcement) func(*v1alpha1.ModelPlacement) {
	return func(p *v1alpha1.ModelPlacement) {
		p.Spec.Enforcement = enforcement
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, Reason: "DevicesDiffer", Message: "pod llm-3 has b. Nothing is moved.", ObservedGeneration: 2,
		})
	}
}

func TestReadyIsTrueOnlyWhereEveryPodRunsAsPlanned(t *testing.T) {
	for name, c := range map[string]struct {
		pods               []corev1.Pod
		change             func(*v1alpha1.ModelPlacement)
		noMesh             bool
		ready, progressing string
		text, columns      string
		replicas, allReady int32
	}{
		"all run":                 {pods: pods(running(0), running(1), running(2), running(3)), ready: "Running", progressing: "Complete", text: "4 of 4 pods run as planned.", columns: "4/4", replicas: 2, allReady: 2},
		"no pods":                 {ready: "NoPods", progressing: "WaitingForPods", text: "No pod has the label rankwright.dev/placement=llm", columns: "0/4"},
		"one is missing":          {pods: pods(running(0), running(1), running(3)), ready: "PodsMissing", progressing: "WaitingForPods", text: "3 of 4 pods run as planned; missing: index 2.", columns: "3/4", replicas: 1, allReady: 1},
		"one is not ready":        {pods: pods(running(0), running(1), running(2), running(3, unready)), ready: "PodsNotReady", progressing: "WaitingForPods", text: "not ready: llm-3.", columns: "3/4", replicas: 2, allReady: 1},
		"two are not ready":       {pods: pods(running(0), running(1), running(2, unready), running(3, unready)), ready: "PodsNotReady", progressing: "WaitingForPods", text: "not ready: llm-2 and 1 more.", columns: "2/4", replicas: 2, allReady: 1},
		"on another node":         {pods: pods(running(0), running(1), running(2), running(3, away)), ready: "PodsElsewhere", progressing: "WaitingForPods", text: "not where the plan has them: llm-3", columns: "3/4", replicas: 2, allReady: 1},
		"with another device":     {pods: pods(running(0), running(1), running(2), running(3, otherDevice)), ready: "PodsElsewhere", progressing: "WaitingForPods", columns: "3/4", replicas: 2, allReady: 1},
		"of another plan":         {pods: pods(running(0), running(1), running(2), running(3, labelled(v1alpha1.LabelPlan, "llm-0"))), ready: "RollingOut", progressing: "RollingOut", columns: "3/4", replicas: 2, allReady: 1},
		"ending":                  {pods: pods(running(0), running(1), running(2), running(3, terminating)), ready: "RollingOut", progressing: "RollingOut", columns: "3/4", replicas: 2, allReady: 1},
		"of an index too many":    {pods: pods(running(0), running(1), running(2), running(3), running(4, labelled(v1alpha1.LabelPlan, "llm-0"))), ready: "Running", progressing: "Complete", columns: "4/4", replicas: 3, allReady: 2},
		"waiting without index":   {pods: pods(running(0), running(1), running(2), running(3, waits, labelled(binding.LabelIndex, ""))), ready: "PodsWaiting", progressing: "WaitingForPods", text: "3 of 4 pods run as planned; waiting for their places: llm-3.", columns: "3/4", replicas: 2, allReady: 1},
		"not scheduled":           {pods: pods(running(0), running(1), running(2), running(3, unready, func(p *corev1.Pod) { p.Spec.NodeName = "" })), ready: "PodsWaiting", progressing: "WaitingForPods", columns: "3/4", replicas: 2, allReady: 1},
		"bound by its author":     {pods: pods(running(0), running(1), running(2), running(3, foreign)), ready: "PodsUnbound", progressing: "WaitingForPods", text: "not bound by the operator: llm-3", columns: "3/4", replicas: 2, allReady: 1},
		"of the placement before": {pods: pods(running(0), running(1), running(2), running(3, ofAnotherPlacement)), ready: "PodsMissing", progressing: "RollingOut", columns: "3/4", replicas: 2, allReady: 1},
		"a second one waits":      {pods: pods(running(0), running(1), running(2), running(3), running(3, waits)), ready: "Running", progressing: "Complete", columns: "4/4", replicas: 2, allReady: 2},
		"the job is done":         {pods: pods(running(0, succeeded), running(1, succeeded), running(2, succeeded), running(3, succeeded)), ready: "PodsEnded", progressing: "Complete", columns: "0/4"},
		"no mesh":                 {noMesh: true, ready: "MeshPending", progressing: "WaitingForPods", columns: "0/0"},
		"not planned yet":         {change: func(p *v1alpha1.ModelPlacement) { p.Status.Conditions = nil }, noMesh: true, ready: "Planning", progressing: "Planning", columns: "0/0"},
		"a newer spec":            {pods: pods(running(0), running(1), running(2), running(3)), change: func(p *v1alpha1.ModelPlacement) { p.Generation = 3 }, ready: "Planning", progressing: "Planning", columns: "4/4", replicas: 2, allReady: 2},
		"devices are lost":        {pods: pods(running(0), running(1), running(2), running(3)), change: because("DevicesLost", metav1.ConditionTrue), ready: "DevicesLost", progressing: "WaitingForDevices", text: "why", columns: "4/4", replicas: 2, allReady: 2},
		"unplaceable": {change: func(p *v1alpha1.ModelPlacement) {
			because("TooLarge", metav1.ConditionFalse)(p)
			p.Status.Shortfall = &v1alpha1.Shortfall{}
		}, noMesh: true, ready: "TooLarge", progressing: "WaitingForDevices", columns: "0/0"},
		"other devices, advised":  {pods: pods(running(0), running(1), running(2), running(3)), change: drift(v1alpha1.EnforcementAdvisory), ready: "Running", progressing: "Complete", columns: "4/4", replicas: 2, allReady: 2},
		"other devices, in slots": {pods: pods(running(0), running(1), running(2), running(3)), change: drift(v1alpha1.EnforcementSlot), ready: "DevicesDiffer", progressing: "WaitingForPods", text: "pod llm-3 has b", columns: "4/4", replicas: 2, allReady: 2},
		"refused with a plan":     {pods: pods(running(0), running(1), running(2), running(3)), change: because("PlanRefused", metav1.ConditionTrue), ready: "PlanRefused", progressing: "Retrying", columns: "4/4", replicas: 2, allReady: 2},
		"invalid":                 {change: because("ModelNotFound", metav1.ConditionFalse), noMesh: true, ready: "ModelNotFound", progressing: "ModelNotFound", columns: "0/0"},
		"suspended":               {change: because("Suspended", metav1.ConditionFalse), noMesh: true, ready: "Suspended", progressing: "Complete", columns: "0/0"},
		"scaled to zero":          {change: because("ScaledToZero", metav1.ConditionFalse), noMesh: true, ready: "ScaledToZero", progressing: "Complete", columns: "0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			placement := placed()
			if c.change != nil {
				c.change(placement)
			}
			at := places()
			if c.noMesh {
				at = nil
			}
			got, _ := statusOf(placement, countPods(placement, at, c.pods), time.Unix(100, 0))
			ready, progressing := got.Conditions[0], got.Conditions[1]
			if ready.Type != v1alpha1.ConditionReady || ready.Reason != c.ready || (ready.Status == metav1.ConditionTrue) != (c.ready == "Running") || !strings.Contains(ready.Message, c.text) {
				t.Errorf("%+v", ready)
			}
			if progressing.Type != v1alpha1.ConditionProgressing || progressing.Reason != c.progressing || (progressing.Status == metav1.ConditionFalse) != (name == "invalid") {
				t.Errorf("%+v", progressing)
			}
			for _, said := range got.Conditions {
				if said.ObservedGeneration != placement.Generation || said.Message == "" {
					t.Errorf("%+v", said)
				}
			}
			if got.Summary.Pods != c.columns || got.Replicas != c.replicas || got.ReadyReplicas != c.allReady {
				t.Errorf("%s pods, %d copies, of which %d ready; want %s, %d, %d", got.Summary.Pods, got.Replicas, got.ReadyReplicas, c.columns, c.replicas, c.allReady)
			}
		})
	}
}

func pods(all ...corev1.Pod) []corev1.Pod { return all }

func TestProgressDeadline(t *testing.T) {
	start := time.Unix(1000, 0)
	placement := placed()
	seconds := int32(60)
	placement.Spec.ProgressDeadlineSeconds = &seconds
	// at writes what is said so many seconds after the start.
	at := func(after int, pods ...corev1.Pod) (metav1.Condition, time.Duration) {
		t.Helper()
		next, wait := statusOf(placement, countPods(placement, places(), pods), start.Add(time.Duration(after)*time.Second))
		placement.Status.LastProgressTime, placement.Status.Summary = next.LastProgressTime, next.Summary
		placement.Status.Conditions = append(placement.Status.Conditions[:1], next.Conditions...)
		return next.Conditions[1], wait
	}
	for _, step := range []struct {
		after  int
		pods   []corev1.Pod
		reason string
		wait   time.Duration
	}{
		{0, nil, "WaitingForPods", time.Minute},
		{50, nil, "WaitingForPods", 10 * time.Second},
		{50, pods(running(0)), "WaitingForPods", time.Minute}, // one more pod is progress
		{70, pods(running(0, unready)), "WaitingForPods", 40 * time.Second},
		{110, pods(running(0, unready)), "ProgressDeadlineExceeded", 0},
		{111, pods(running(0)), "WaitingForPods", time.Minute},
		{120, pods(running(0), running(1), running(2), running(3)), "Complete", 0},
		{9000, pods(running(0), running(1), running(2), running(3)), "Complete", 0},
		{9001, pods(running(0), running(1), running(2)), "WaitingForPods", time.Minute}, // a story of its own
		{9061, pods(running(0), running(1), running(2)), "ProgressDeadlineExceeded", 0},
	} {
		got, wait := at(step.after, step.pods...)
		if got.Reason != step.reason || wait != step.wait || (got.Status == metav1.ConditionFalse) != (step.reason == reasonDeadline) {
			t.Errorf("after %d s: %+v, to wait %s", step.after, got, wait)
		}
	}
	placement.Generation = 3
	placement.Status.Conditions[0].ObservedGeneration = 3
	if got, _ := at(9100); got.Reason != reasonPods {
		t.Errorf("another spec: %+v", got)
	}
	replanned := countPods(placement, places(), nil)
	replanned.planned = metav1.NewTime(start.Add(9155 * time.Second))
	if next, _ := statusOf(placement, replanned, start.Add(9170*time.Second)); next.Conditions[1].Reason != reasonPods {
		t.Errorf("another plan: %+v", next.Conditions[1])
	}
}

// A pass that finds what was found before changes nothing, so that nothing is written.
func TestStatusIsStable(t *testing.T) {
	placement := placed()
	first, _ := statusOf(placement, countPods(placement, places(), pods(running(0))), time.Unix(100, 0))
	placement.Status = with(&placement.Status, &first)
	second, _ := statusOf(placement, countPods(placement, places(), pods(running(0))), time.Unix(200, 0))
	if diff := cmp.Diff(placement.Status, with(&placement.Status, &second)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestOnlyWhatMattersOfAPodWakes(t *testing.T) {
	before := running(0)
	noise := running(0, func(p *corev1.Pod) { p.Status.PodIP, p.ResourceVersion = "10.0.0.1", "7" })
	if seenOf(&before) != seenOf(&noise) {
		t.Error("an address wakes")
	}
	for name, change := range map[string]func(*corev1.Pod){
		"ready": unready, "gate": waits, "node": away, "devices": otherDevice, "ending": terminating, "ended": succeeded,
		"plan": labelled(v1alpha1.LabelPlan, "llm-0"), "index": labelled(binding.LabelIndex, "9"), "placement": ofAnotherPlacement,
	} {
		if changed := running(0, change); seenOf(&before) == seenOf(&changed) {
			t.Errorf("%s does not wake", name)
		}
	}
}
