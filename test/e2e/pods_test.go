//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/rankwright/rankwright/test/e2e/probe/report"
)

// patience is far above what anything awaited takes on two free cores.
const patience = 2 * time.Minute

// probePod runs a command of the probe.
func probePod(name, command string, change ...func(*corev1.Pod)) *corev1.Pod {
	none, root := false, int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64),
			AutomountServiceAccountToken: &none,
			Containers: []corev1.Container{{
				Name: "probe", Image: probeImage, ImagePullPolicy: corev1.PullNever, Args: []string{command},
				SecurityContext: &corev1.SecurityContext{RunAsUser: &root},
			}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

// at puts a pod on a node without asking the scheduler.
func at(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = node }
}

// asking asks for so many of an extended resource.
func asking(name string, count int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		limits := &pod.Spec.Containers[0].Resources.Limits
		if *limits == nil {
			*limits = corev1.ResourceList{}
		}
		(*limits)[corev1.ResourceName(name)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
}

// create creates a pod that goes with the test.
func (s *site) create(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	created, err := s.clients.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.remove(t, pod.Namespace, pod.Name) })
	return created
}

// remove deletes a pod and waits until it is gone.
func (s *site) remove(t *testing.T, namespace, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = s.clients.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if _, err := s.awaitPod(ctx, namespace, name, gone); err != nil {
		t.Errorf("pod %s is not gone: %v", name, err)
	}
}

// condition says whether a pod is as it should be. It gets nil for a pod that does not exist.
type condition func(*corev1.Pod) (bool, error)

func gone(pod *corev1.Pod) (bool, error) { return pod == nil, nil }

func running(pod *corev1.Pod) (bool, error) {
	return in(pod, corev1.PodRunning) && pod.Status.ContainerStatuses[0].Ready, failure(pod)
}

func succeeded(pod *corev1.Pod) (bool, error) { return in(pod, corev1.PodSucceeded), failure(pod) }

func started(pod *corev1.Pod) (bool, error) {
	return in(pod, corev1.PodRunning) || in(pod, corev1.PodSucceeded), failure(pod)
}

func in(pod *corev1.Pod, phase corev1.PodPhase) bool { return pod != nil && pod.Status.Phase == phase }

func failure(pod *corev1.Pod) error {
	if in(pod, corev1.PodFailed) {
		return fmt.Errorf("failed: %s: %s", pod.Status.Reason, pod.Status.Message)
	}
	return nil
}

// awaitPod watches a pod until it is as it should be.
func (s *site) awaitPod(ctx context.Context, namespace, name string, good condition) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pods := cache.NewListWatchFromClient(s.clients.CoreV1().RESTClient(), "pods", namespace, fields.OneTermEqualSelector("metadata.name", name))
	var last *corev1.Pod
	absent := func(store cache.Store) (bool, error) {
		if len(store.List()) > 0 {
			return false, nil
		}
		return good(nil)
	}
	_, err := watchtools.UntilWithSync(ctx, pods, &corev1.Pod{}, absent, func(event watch.Event) (bool, error) {
		pod, isPod := event.Object.(*corev1.Pod)
		if !isPod {
			return false, fmt.Errorf("%s: %s", name, describe(event.Object))
		}
		last = pod
		if event.Type == watch.Deleted {
			return good(nil)
		}
		return good(pod)
	})
	if err != nil && last != nil {
		err = fmt.Errorf("%w; its status: %s", err, describe(last.Status))
	}
	return last, err
}

// mustBe waits for a pod and fails the test where it does not become so.
func (s *site) mustBe(t *testing.T, pod *corev1.Pod, good condition) *corev1.Pod {
	t.Helper()
	now, err := s.awaitPod(t.Context(), pod.Namespace, pod.Name, good)
	if err != nil {
		t.Fatalf("pod %s: %v", pod.Name, err)
	}
	return now
}

// printed decodes what the probe of a pod printed.
func printed[T any](t *testing.T, s *site, pod *corev1.Pod) T {
	t.Helper()
	var value T
	stream, err := s.clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if err := json.NewDecoder(stream).Decode(&value); err != nil {
		t.Fatalf("the log of pod %s: %v", pod.Name, err)
	}
	return value
}

// see is what a running container of the probe sees.
func (s *site) see(t *testing.T, pod *corev1.Pod) report.Sight {
	t.Helper()
	return printed[report.Sight](t, s, pod)
}

func describe(object any) string {
	if o, ok := object.(runtime.Object); ok {
		object = o
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
