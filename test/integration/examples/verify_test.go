package examples

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// The view from a pod is taken with the rights and mounts that the node agent's manifest gives the agent.
func TestViewFromAPodIsTheAgents(t *testing.T) {
	w := newWorld(t, "views")
	var agent appsv1.DaemonSet
	w.decode(w.read(filepath.Join("config", "node-agent", "daemonset.yaml")), "DaemonSet", "rankwright-node-agent", &agent)
	var job batchv1.Job
	w.decode(w.read(filepath.Join("examples", "verify", "verify.yaml")), "Job", "rankwright-verify", &job)

	installed := agent.Spec.Template.Spec.Containers[0]
	at := slices.IndexFunc(job.Spec.Template.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "in-pod" })
	if at < 0 {
		t.Fatal("the Job has no container in-pod")
	}
	view := job.Spec.Template.Spec.InitContainers[at]
	seccomp := agent.Spec.Template.Spec.SecurityContext.SeccompProfile
	if diff := cmp.Diff(installed.SecurityContext, withoutSeccomp(view.SecurityContext)); diff != "" {
		t.Errorf("rights (-agent +view):\n%s", diff)
	}
	if diff := cmp.Diff(seccomp, view.SecurityContext.SeccompProfile); diff != "" {
		t.Errorf("seccomp (-agent +view):\n%s", diff)
	}
	if diff := cmp.Diff(readMounts(installed), readMounts(view)); diff != "" {
		t.Errorf("mounts (-agent +view):\n%s", diff)
	}
	if installed.Image != view.Image {
		t.Errorf("image is %s, the agent's is %s", view.Image, installed.Image)
	}
}

func withoutSeccomp(c *corev1.SecurityContext) *corev1.SecurityContext {
	without := c.DeepCopy()
	without.SeccompProfile = nil
	return without
}

// readMounts are the mounts of the host that detection reads, by their paths.
func readMounts(c corev1.Container) map[string]corev1.VolumeMount {
	mounts := map[string]corev1.VolumeMount{}
	for _, m := range c.VolumeMounts {
		switch m.MountPath {
		case "/host/sys", "/host/proc", "/host/dev", "/host/etc/os-release":
			mounts[m.MountPath] = m
		}
	}
	return mounts
}

// decode finds an object of a manifest.
func (w *world) decode(objects []*unstructured.Unstructured, kind, name string, into any) {
	w.Helper()
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			w.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into))
			return
		}
	}
	w.Fatalf("no %s %s", kind, name)
}
