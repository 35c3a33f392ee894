// Package verifypods collects what pods say that were given devices in order to verify hardware: one Job for each way in
// which a cluster gives devices to pods.
package verifypods

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/rankwright/rankwright/pkg/survey"
)

const (
	// Label is on the Jobs; its value says vendor and way.
	Label = "rankwright.dev/verify"
	// expects is the annotation of a Job with the number of devices that its pod should see; 0 means all of its vendor.
	expects = "rankwright.dev/verify-expects"
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
func Collect(ctx context.Context, config *rest.Config, o Options) ([]survey.Pod, error) {
	client, err := newReader(config)
	if err != nil {
		return nil, err
	}
	var jobs []job
	start := time.Now()
	err = wait.PollUntilContextTimeout(ctx, o.Period, o.Patience, true, func(ctx context.Context) (bool, error) {
		seen, err := look(ctx, client, o.Namespace)
		if err != nil {
			return false, err
		}
		jobs = seen
		return settled(jobs, time.Since(start) >= o.Grace), nil
	})
	if err != nil && !wait.Interrupted(err) {
		return nil, err
	}
	// What there is when the time is up is read in a time of its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	return report(ctx, client, jobs)
}

func look(ctx context.Context, client *reader, namespace string) ([]job, error) {
	jobs, err := client.jobs(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		if jobs[i].pod, err = client.podOf(ctx, namespace, jobs[i].Metadata.Name); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// settled says whether there is nothing more to wait for. What could not start yet counts only when grace is over.
func settled(jobs []job, graceOver bool) bool {
	return !slices.ContainsFunc(jobs, func(j job) bool {
		switch {
		case j.pod != nil && (j.pod.Status.Phase == succeeded || j.pod.Status.Phase == failed):
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
func stuck(pod *pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == scheduled && c.Status == "False" {
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

func report(ctx context.Context, client *reader, jobs []job) ([]survey.Pod, error) {
	var found []survey.Pod
	for _, j := range jobs {
		expected, err := strconv.Atoi(cmp.Or(j.Metadata.Annotations[expects], "1"))
		if err != nil || expected < 0 {
			return nil, fmt.Errorf("Job %s: annotation %s: %q is no number of devices", j.Metadata.Name, expects, j.Metadata.Annotations[expects])
		}
		said := survey.Pod{Name: j.Metadata.Labels[Label], Asked: asked(&j.Spec.Template.Spec), Expected: expected, Phase: pending}
		if j.pod == nil {
			said.Reason = "no pod was made: kubectl describe job " + j.Metadata.Name
		} else {
			said.Phase = j.pod.Status.Phase
			said.Reason = cmp.Or(stuck(j.pod), j.pod.Status.Reason)
			said.Output = client.printed(ctx, j.pod)
		}
		found = append(found, said)
	}
	slices.SortFunc(found, func(a, b survey.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// asked are the devices that a pod asks for, in every way that there is.
func asked(spec *podSpec) string {
	var parts []string
	for _, c := range spec.Containers {
		for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
			if strings.Contains(name, "/") {
				parts = append(parts, fmt.Sprintf("%s=%v", name, c.Resources.Limits[name]))
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
