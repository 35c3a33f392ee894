package nodeagent_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/cordon"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/pkg/nodeagent/cleanup"
	"github.com/rankwright/rankwright/test/controlplane"
)

// cleanUp runs a cleanup with the rights of config/cleanup.
func cleanUp(t *testing.T, plane *controlplane.ControlPlane) {
	t.Helper()
	objects, err := controlplane.ReadConfig("namespace", "cleanup/cleanup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.Apply(t.Context(), plane.Config(), "", objects...); err != nil {
		t.Fatal(err)
	}
	config, err := plane.ConfigForAccount(t.Context(), agentName, "rankwright-cleanup", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	options := cleanup.Options{
		AgentNamespace: agentName, OperatorNamespace: "rankwright-operator",
		Log: (&site{t: t}).log(), Clock: clock.RealClock{},
	}
	if err := cleanup.Run(t.Context(), c, options); err != nil {
		t.Fatal(err)
	}
}

// sliceOf is a driver's ResourceSlice of a node.
func sliceOf(node, driver string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-" + driver},
		Spec:       resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}},
	}
}

func TestCleanupLeavesNothingOfOurs(t *testing.T) {
	s := newSite(t, "cleanup")
	before, kubelets := get(s, s.nodeKey()).Labels, s.kubelets()
	s.nvidia.set(gpu(0))
	s.once()
	s.applyLabel("nvidia.count", "1")      // held by both
	s.setLabel("a-strangers", "own")       // of our prefix, and not ours
	s.setLabel("nvidia.product", "theirs") // taken from us
	left := []client.Object{
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: agentName, Name: "a-strangers"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "rankwright-operator", Name: "a-strangers"}},
		sliceOf(s.name, "gpu.example.com"),
	}
	goes := []client.Object{
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "rankwright-operator", Name: cleanup.ElectionName}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "rankwright-operator", Name: ledger.Name}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "rankwright-operator", Name: cordon.Name}},
		sliceOf(s.name, v1alpha1.DRADriver),
	}
	for _, object := range append(left, goes...) {
		if err := s.admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.admin.Delete(context.Background(), object) })
	}
	s.run() // for the heartbeat
	heartbeat := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: agentName, Name: s.name}}
	s.await("the heartbeat", func() bool {
		return s.admin.Get(t.Context(), client.ObjectKeyFromObject(heartbeat), heartbeat) == nil
	})
	s.stop()

	cleanUp(t, cluster)
	want := map[string]string{
		v1alpha1.Prefix + "nvidia.count": "1", v1alpha1.Prefix + "a-strangers": "own", v1alpha1.Prefix + "nvidia.product": "theirs",
	}
	for key, value := range before {
		want[key] = value
	}
	if diff := cmp.Diff(want, get(s, s.nodeKey()).Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	own, others := s.nodeCondition()
	if diff := cmp.Diff(kubelets, others); own != nil || diff != "" {
		t.Errorf("the Node says %+v, and of the kubelet's status (-want +got):\n%s", own, diff)
	}
	for _, object := range append(goes, heartbeat, s.inventoryKey()) {
		if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s is left: %v", object, object.GetName(), err)
		}
	}
	for _, object := range left {
		if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Errorf("%T %s is gone: %v", object, object.GetName(), err)
		}
	}

	version := get(s, s.nodeKey()).ResourceVersion
	cleanUp(t, cluster)
	if got := get(s, s.nodeKey()).ResourceVersion; got != version {
		t.Error("a second cleanup changes the Node")
	}
}

// After an installation that failed before its first object, there are no kinds of ours.
func TestCleanupWithoutAnyKindOfOurs(t *testing.T) {
	plane, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	admin, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bare", Labels: map[string]string{"zone": "a"}}}
	created, err := admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cleanUp(t, plane)
	got, err := admin.CoreV1().Nodes().Get(t.Context(), "bare", metav1.GetOptions{})
	if err != nil || got.ResourceVersion != created.ResourceVersion {
		t.Errorf("the Node was changed: %v, error %v", got, err)
	}
}
