// Package verifypods collects what pods say that were given devices in order to verify hardware: one Job for each way in
// which a cluster gives devices to pods.
package verifypods

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/pkg/survey"
)

const (
	// Label is on the Jobs; its value says vendor and way.
	Label = "rankwright.dev/verify"
	// Expects is the annotation of a Job with the number of devices that its pod should see; 0 means all of its vendor.
	Expects = "rankwright.dev/verify-expects"
)

// Options say what to collect.
type Options struct {
	Namespace string
	// Patience is how long to wait for pods that get on, Grace for those that do not.
	Patience, Grace time.Duration
	// Period is the time between two looks.
	Period time.Duration
}

// Collect waits until every Job's pod has ended or is stuck, and returns what they printed, in order of their names.
func Collect(ctx context.Context, client kubernetes.Interface, o Options) ([]survey.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	tick := time.NewTicker(o.Period)
	defer tick.Stop()
	start := time.Now()
	for {
		jobs, err := look(ctx, client, o.Namespace)
		if err != nil {
			return nil, err
		}
		if settled(jobs, time.Since(start) >= o.Grace) {
			return report(ctx, client, jobs)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return lastReport(context.WithoutCancel(ctx), client, jobs, o.Grace)
		}
	}
}

// lastReport is a report of what there is when the time is up, read in a time of its own.
func lastReport(ctx context.Context, client kubernetes.Interface, jobs []job, patience time.Duration) ([]survey.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return report(ctx, client, jobs)
}

// job is a Job with its pod; nil where none was made.
type job struct {
	batchv1.Job
	pod *corev1.Pod
}

func look(ctx context.Context, client kubernetes.Interface, namespace string) ([]job, error) {
	list, err := client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{LabelSelector: Label})
	if err != nil {
		return nil, fmt.Errorf("list the Jobs of %s: %w", namespace, err)
	}
	var jobs []job
	for i := range list.Items {
		found := job{Job: list.Items[i]}
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + found.Name})
		if err != nil {
			return nil, fmt.Errorf("list the pods of %s/%s: %w", namespace, found.Name, err)
		}
		if len(pods.Items) > 0 {
			found.pod = &pods.Items[0]
		}
		jobs = append(jobs, found)
	}
	return jobs, nil
}

// settled says whether there is nothing more to wait for. What could not start yet counts only when grace is over.
func settled(jobs []job, graceOver bool) bool {
	return !slices.ContainsFunc(jobs, func(j job) bool {
		switch {
		case j.pod != nil && (j.pod.Status.Phase == corev1.PodSucceeded || j.pod.Status.Phase == corev1.PodFailed):
			return false
		case j.pod == nil || stuck(j.pod) != "":
			return !graceOver
		default:
			return true
		}
	})
}

// stuck is why a pod does not start: no node has what it asks for, or the runtime refuses it. An image that is being pulled
// is neither.
func stuck(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return strings.TrimSpace(c.Reason + " " + c.Message)
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return strings.TrimSpace(w.Reason + " " + w.Message)
		}
	}
	return ""
}

func report(ctx context.Context, client kubernetes.Interface, jobs []job) ([]survey.Pod, error) {
	var pods []survey.Pod
	for _, j := range jobs {
		expected, err := strconv.Atoi(cmp.Or(j.Annotations[Expects], "1"))
		if err != nil || expected < 0 {
			return nil, fmt.Errorf("Job %s: annotation %s: %q is no number of devices", j.Name, Expects, j.Annotations[Expects])
		}
		pod := survey.Pod{Name: j.Labels[Label], Asked: asked(&j.Spec.Template.Spec), Expected: expected, Phase: string(corev1.PodPending)}
		if j.pod == nil {
			pod.Reason = "no pod was made: kubectl describe job " + j.Name
		} else {
			pod.Phase = string(j.pod.Status.Phase)
			pod.Reason = cmp.Or(stuck(j.pod), j.pod.Status.Reason)
			pod.Output = printed(ctx, client, j.pod)
		}
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b survey.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// asked are the devices that a pod asks for, in every way that there is.
func asked(spec *corev1.PodSpec) string {
	var parts []string
	for _, c := range spec.Containers {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			if strings.Contains(string(name), "/") {
				quantity := c.Resources.Limits[name]
				parts = append(parts, fmt.Sprintf("%s=%s", name, quantity.String()))
			}
		}
	}
	if spec.RuntimeClassName != nil {
		parts = append(parts, "runtime class "+*spec.RuntimeClassName)
	}
	for _, claim := range spec.ResourceClaims {
		parts = append(parts, "claim "+claim.Name)
	}
	return cmp.Or(strings.Join(parts, ", "), "annotations")
}

// maxLog caps what is read of a pod's log, in bytes.
const maxLog = 256 << 10

// printed is a pod's log; why there is none is told by its state.
func printed(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) string {
	limit := int64(maxLog)
	stream, err := client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{LimitBytes: &limit}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(io.LimitReader(stream, maxLog))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}
