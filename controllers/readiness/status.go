package readiness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/internal/words"
)

// Reasons of Ready and Progressing beside those of Placed and of the pods' standings.
const (
	reasonRunning     = "Running"
	reasonNoPods      = "NoPods"
	reasonMeshPending = "MeshPending"
	reasonPlanning    = "Planning"
	reasonDevices     = "WaitingForDevices"
	reasonPods        = "WaitingForPods"
	reasonRolling     = "RollingOut"
	reasonRetrying    = "Retrying"
	reasonComplete    = "Complete"
	reasonDeadline    = "ProgressDeadlineExceeded"
)

// defaultDeadline is spec.progressDeadlineSeconds where the API server did not fill it in.
const defaultDeadline = 600

// ofAuthor are the reasons of Placed that only a change of the placement, or of the ConfigMap that it names, ends.
var ofAuthor = []string{
	v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonInvalidModel, v1alpha1.ReasonModelNotFound, v1alpha1.ReasonConfigMapNotFound, v1alpha1.ReasonKeyNotFound,
}

// unhindered are the reasons of Placed with which every rank can run.
var unhindered = []string{v1alpha1.ReasonPlaced, v1alpha1.ReasonDraining}

// released are the reasons of Placed of a placement that is to hold no devices.
var released = []string{v1alpha1.ReasonScaledToZero, v1alpha1.ReasonSuspended, v1alpha1.ReasonExpired}

// with returns a status with this controller's part replaced by another.
func with(status, part *v1alpha1.ModelPlacementStatus) v1alpha1.ModelPlacementStatus {
	next := *status
	next.Replicas, next.ReadyReplicas, next.Summary, next.LastProgressTime = part.Replicas, part.ReadyReplicas, part.Summary, part.LastProgressTime
	next.Conditions = slices.Clone(status.Conditions)
	for _, c := range part.Conditions {
		if at := slices.IndexFunc(next.Conditions, func(said metav1.Condition) bool { return said.Type == c.Type }); at >= 0 {
			next.Conditions[at] = c
		} else {
			next.Conditions = append(next.Conditions, c)
		}
	}
	return next
}

// statusOf is this controller's part of the status: Ready, then Progressing. It returns in how long the deadline passes, 0 where none runs.
func statusOf(placement *v1alpha1.ModelPlacement, pods *count, now time.Time) (v1alpha1.ModelPlacementStatus, time.Duration) {
	ready := applied.PlacementCondition(placement, readyCondition(placement, pods), now)
	next := v1alpha1.ModelPlacementStatus{
		Replicas: pods.replicas, ReadyReplicas: pods.readyReplicas,
		Summary: v1alpha1.PlacementSummary{Pods: fmt.Sprintf("%d/%d", pods.ready, pods.total)},
	}
	progress := lastProgress(placement, pods, ready.Status == metav1.ConditionTrue, now)
	next.LastProgressTime = &progress
	progressing, runs := progressingCondition(placement, pods, ready.Status == metav1.ConditionTrue)
	var wait time.Duration
	if runs {
		deadline := time.Duration(ptr.Deref(placement.Spec.ProgressDeadlineSeconds, defaultDeadline)) * time.Second
		if wait = deadline - now.Sub(progress.Time); wait <= 0 {
			wait = 0
			progressing.Status, progressing.Reason = metav1.ConditionFalse, reasonDeadline
			progressing.Message = fmt.Sprintf("No progress within %s. %s", deadline, progressing.Message)
		}
	}
	next.Conditions = []metav1.Condition{ready, applied.PlacementCondition(placement, progressing, now)}
	return next, wait
}

// placedOf returns the condition Placed of the spec as it is; nil where the spec was not looked at yet.
func placedOf(placement *v1alpha1.ModelPlacement) *metav1.Condition {
	placed := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionPlaced)
	if placed == nil || placed.ObservedGeneration != placement.Generation {
		return nil
	}
	return placed
}

// readyCondition is True where a plan that answers the spec is in force and all its pods run as it says, with the devices that it gives them
// where these are enforced. Else it has the reason and the first
// words of Placed, or says what keeps the pods.
func readyCondition(placement *v1alpha1.ModelPlacement, pods *count) metav1.Condition {
	not := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	drifted := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionDrifted)
	if drifted != nil && drifted.Status != metav1.ConditionTrue {
		drifted = nil
	}
	switch placed := placedOf(placement); {
	case placed == nil:
		return not(reasonPlanning, fmt.Sprintf("Generation %d of the spec was not looked at yet.", placement.Generation))
	case !slices.Contains(unhindered, placed.Reason):
		return not(placed.Reason, words.FirstSentence(placed.Message))
	case pods.total == 0:
		return not(reasonMeshPending, fmt.Sprintf("The mesh of plan %s is not written yet, or no pods can be cut from it.", placement.Status.Plan))
	case pods.live == 0 && len(pods.names[ended]) == 0:
		return not(reasonNoPods, fmt.Sprintf("No pod has the label %s=%s: set it in the pod template of the workload that runs the model.",
			v1alpha1.LabelPlacement, placement.Name))
	case pods.ready < pods.total:
		return not(pods.reason(), pods.text())
	case drifted != nil && placement.Spec.Enforcement != v1alpha1.EnforcementAdvisory:
		return not(drifted.Reason, words.FirstSentence(drifted.Message))
	default:
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonRunning, Message: pods.text()}
	}
}

// progressingCondition says what the placement is doing, and whether the deadline runs meanwhile.
func progressingCondition(placement *v1alpha1.ModelPlacement, pods *count, ready bool) (c metav1.Condition, deadline bool) {
	c = metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	placed := placedOf(placement)
	switch {
	case placed == nil:
		c.Reason, c.Message = reasonPlanning, "A plan is being made."
	case ready:
		c.Reason, c.Message = reasonComplete, "Nothing is left to do."
		return c, false
	case slices.Contains(released, placed.Reason):
		c.Reason, c.Message = reasonComplete, "No devices are asked for."
		return c, false
	case slices.Contains(ofAuthor, placed.Reason):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, placed.Reason, "Waiting for a change of the spec, or of what it names."
		return c, false
	case placement.Status.Shortfall != nil, placed.Reason == v1alpha1.ReasonDevicesLost:
		c.Reason, c.Message = reasonDevices, "Waiting for devices."
	case !slices.Contains(unhindered, placed.Reason):
		c.Reason, c.Message = reasonRetrying, "Trying again after a while; Placed says why."
	case len(pods.names[ended]) == pods.total && pods.total > 0:
		c.Reason, c.Message = reasonComplete, "All pods ended."
		return c, false
	case len(pods.names[old])+len(pods.names[ending]) > 0:
		c.Reason, c.Message = reasonRolling, fmt.Sprintf("Pods follow plan %s: %d of %d run as planned.", placement.Status.Plan, pods.ready, pods.total)
	default:
		c.Reason, c.Message = reasonPods, fmt.Sprintf("Waiting for pods: %d of %d run as planned.", pods.ready, pods.total)
	}
	return c, true
}

// lastProgress is when the placement last came nearer to being ready, or began anew to.
func lastProgress(placement *v1alpha1.ModelPlacement, pods *count, ready bool, now time.Time) metav1.Time {
	said := &placement.Status
	was := meta.FindStatusCondition(said.Conditions, v1alpha1.ConditionReady)
	last := metav1.NewTime(now).Rfc3339Copy()
	begun := was == nil || said.LastProgressTime == nil || was.ObservedGeneration != placement.Generation
	if !begun && (was.Status == metav1.ConditionTrue) == ready && pods.ready <= readyPods(said) {
		last = *said.LastProgressTime
	}
	for _, at := range []metav1.Time{pods.planned, placedSince(said)} {
		if last.Before(&at) {
			last = at
		}
	}
	return last
}

// readyPods is how many pods ran as planned when the status was written.
func readyPods(status *v1alpha1.ModelPlacementStatus) int {
	text, _, _ := strings.Cut(status.Summary.Pods, "/")
	n, _ := strconv.Atoi(text)
	return n
}

// placedSince is when a plan came into force where there was none, or went.
func placedSince(status *v1alpha1.ModelPlacementStatus) metav1.Time {
	if placed := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPlaced); placed != nil {
		return placed.LastTransitionTime
	}
	return metav1.Time{}
}
