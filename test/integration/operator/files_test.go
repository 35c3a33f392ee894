package operator

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/test/operation"
)

// files is the first ConfigMap of mesh llm; empty where it is not there.
func (w world) files(ctx context.Context) *corev1.ConfigMap {
	w.Helper()
	config := &corev1.ConfigMap{}
	w.Must(client.IgnoreNotFound(w.Get(ctx, client.ObjectKey{Namespace: testNamespace, Name: launch.ConfigMapName("llm", 0)}, config)))
	return config
}

// awaitLaunchable waits until mesh llm says of its files what is expected, and returns the message.
func (w world) awaitLaunchable(reason string) string {
	w.Helper()
	var message string
	w.Eventually("the mesh says "+reason, func(ctx context.Context) bool {
		mesh := &v1alpha1.DeviceMesh{}
		if w.Get(ctx, client.ObjectKey{Namespace: testNamespace, Name: "llm"}, mesh) != nil {
			return false
		}
		c := meta.FindStatusCondition(mesh.Status.Conditions, "Launchable")
		if c == nil || c.Reason != reason {
			return false
		}
		message = c.Message
		return true
	})
	return message
}

// read makes a pod of a placement, for which its files are written.
func (w world) read(placement string) {
	w.Helper()
	w.Must(w.Create(w.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: placement + "-reader", Labels: map[string]string{v1alpha1.LabelPlacement: placement}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "model", Image: "none"}}},
	}))
}

func (w world) launch(asked v1alpha1.Launch) {
	w.Helper()
	p := w.placement("llm")
	patch := client.MergeFrom(p.DeepCopy())
	p.Spec.Launch = &asked
	w.Must(w.Patch(w.Context(), p, patch))
}

func TestFilesFollowTheMesh(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 4)
	w.operate(operator.Options{Planner: operation.FirstFit})
	p := w.PlacementOf("llm", 2, 2)
	p.Spec.Launch = &v1alpha1.Launch{Hosts: "llm-{pod}.llm"}
	w.place(p)
	plan := w.awaitPlan("llm", "llm-1")
	w.read("llm")
	if got, want := w.awaitLaunchable("FilesWritten"), "ConfigMap llm-mesh starts 2 pods by vllm."; got != want {
		t.Errorf("message %q, want %q", got, want)
	}

	mesh := w.mesh()
	got := w.files(t.Context())
	if !metav1.IsControlledBy(got, mesh) || got.Labels[v1alpha1.LabelPlan] != "llm-1" {
		t.Errorf("the ConfigMap is of %v with the labels %v", got.OwnerReferences, got.Labels)
	}
	if diff := cmp.Diff(wantedFiles(t, plan, mesh, p), got.Data); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if text := got.Data[launch.PodFile(1)]; !strings.Contains(text, launch.CopyFile(1)) {
		t.Errorf("pod 1 starts with %s", text)
	}

	// Another number of copies has another plan and other files.
	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 1 })
	plan = w.awaitPlan("llm", "llm-2")
	want := wantedFiles(t, plan, w.mesh(), p)
	w.Eventually("the files are those of the new plan", func(ctx context.Context) bool { return cmp.Equal(want, w.files(ctx).Data) })

	w.remove("llm")
	w.Eventually("the files are gone", func(ctx context.Context) bool { return w.files(ctx).UID == "" })
}

// wantedFiles returns the files that spec.launch of the placement asks for.
func wantedFiles(t *testing.T, plan *v1alpha1.ShardingPlan, mesh *v1alpha1.DeviceMesh, p *v1alpha1.ModelPlacement) map[string]string {
	t.Helper()
	options, err := launch.OptionsOf(p.Spec.Launch)
	if err != nil {
		t.Fatal(err)
	}
	job, err := launch.NewJob(&plan.Spec, &mesh.Spec, options)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := job.Write("")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := bundle.ConfigMaps()
	if err != nil || len(parts) != 1 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	return parts[0]
}

func TestFilesComeBackAndSurplusGoes(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.read("llm")
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitLaunchable("FilesWritten")
	first := w.files(t.Context())
	w.Must(w.Delete(t.Context(), first))
	w.Eventually("the ConfigMap is written anew", func(ctx context.Context) bool {
		again := w.files(ctx)
		return again.UID != "" && again.UID != first.UID && cmp.Equal(first.Data, again.Data)
	})
	surplus := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace, Name: launch.ConfigMapName("llm", 3), Labels: first.Labels, OwnerReferences: first.OwnerReferences,
	}}
	w.Must(w.Create(t.Context(), surplus))
	w.Eventually("a part that is not needed is gone", func(ctx context.Context) bool {
		return client.IgnoreNotFound(w.Get(ctx, client.ObjectKeyFromObject(surplus), surplus)) == nil && w.Get(ctx, client.ObjectKeyFromObject(surplus), surplus) != nil
	})
}

func TestPlacementsThatCannotBeLaunched(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.read("llm")
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitLaunchable("FilesWritten")
	w.launch(v1alpha1.Launch{Hosts: "-{pod}.llm"})
	if got := w.awaitLaunchable("CannotLaunch"); !strings.Contains(got, `"-0.llm", which is no host name`) {
		t.Errorf("message %q", got)
	}
	w.Eventually("files of before are gone", func(ctx context.Context) bool { return w.files(ctx).UID == "" })
	if got := w.awaitReason("llm", "Placed"); placed(got).Status != metav1.ConditionTrue {
		t.Errorf("the placement is %+v: its plan and mesh are as they were", placed(got))
	}
	w.launch(v1alpha1.Launch{Hosts: "llm-{pod}.llm", Launcher: "env", DevicesPerPod: new(int32(1))})
	w.awaitLaunchable("FilesWritten")
	w.Eventually("the files are those of another launcher and of other pods", func(ctx context.Context) bool {
		data := w.files(ctx).Data
		return strings.Contains(data[launch.CopyFile(0)], "MASTER_ADDR='llm-0.llm'") && strings.Contains(data[launch.PodFile(1)], "export RANK='1'")
	})
}

// A ConfigMap of somebody else is left as it is.
func TestFilesWhoseNameIsTaken(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "llm-mesh"}, Data: map[string]string{"a": "b"}}
	w.Must(w.Create(t.Context(), theirs))
	w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(t.Context()), theirs))) })
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	w.read("llm")
	if got := w.awaitLaunchable("NameTaken"); !strings.Contains(got, "ConfigMap llm-mesh exists") {
		t.Errorf("message %q", got)
	}
	if got := w.files(t.Context()); !cmp.Equal(got.Data, theirs.Data) || got.UID != theirs.UID || got.OwnerReferences != nil {
		t.Errorf("the ConfigMap became %v", got)
	}
	w.Must(w.Delete(t.Context(), theirs))
	w.launch(v1alpha1.Launch{Hosts: "llm-{pod}.llm"})
	w.awaitLaunchable("FilesWritten")
}
