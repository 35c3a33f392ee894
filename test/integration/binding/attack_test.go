package binding

import (
	"context"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/test/operation"
)

// verbOf is what a built-in role may do with placements that no lesser one may. A controller adds it to the role a moment after our rights are
// applied.
var verbOf = map[string]string{"view": "list", "edit": "delete", "admin": "delete"}

// tenantOf returns a client of somebody who has a built-in role in the test's namespace and no other right.
func (w *world) tenantOf(name, role string) client.Client {
	w.Helper()
	bound := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Home, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), bound)))
	config, err := w.Cluster.ConfigForUser(name)
	w.Must(err)
	c, err := client.New(config, client.Options{Scheme: w.Scheme()})
	w.Must(err)
	asked := authorizationv1.ResourceAttributes{Namespace: w.Home, Verb: verbOf[role], Group: v1alpha1.GroupVersion.Group, Resource: "modelplacements"}
	w.Eventually(name+" has the rights of "+role, func(ctx context.Context) bool {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked}}
		w.Must(c.Create(ctx, review))
		return review.Status.Allowed
	})
	return c
}

// squatter is a pod without devices that says it is a placement's and runs on node a.
func (w *world) squatter(name string, edit func(*corev1.Pod)) *corev1.Pod {
	pod := w.pod(name, map[string]string{v1alpha1.LabelPlan: "llm-1", binding.LabelIndex: "0"})
	pod.Spec.NodeName = "a"
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	if edit != nil {
		edit(pod)
	}
	return pod
}

// TestLabelsTakeNoDevices has a tenant write at pods of its own whatever makes them look as if they had devices, while another tenant needs
// every device of the node.
func TestLabelsTakeNoDevices(t *testing.T) {
	const devices = 4
	victim, w := newWorld(t, "victim"), newWorld(t, "attacker") // the operator of the last one is called
	w.operate(nil)
	w.addNode("a", devices)
	tenant := w.tenantOf("mallory", "edit")

	// A pod that the operator bound, to copy from.
	w.place("llm", 1, v1alpha1.EnforcementAdvisory)
	w.awaitPlan("llm-1")
	honest := w.pod("honest", map[string]string{binding.LabelIndex: "0"})
	w.Must(tenant.Create(t.Context(), honest))
	w.Eventually("the honest pod is bound", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(honest), honest))
		return honest.Annotations[binding.AnnotationBoundBy] == "llm-1"
	})
	copied := func(pod *corev1.Pod) { pod.Annotations, pod.Labels = honest.Annotations, honest.Labels }
	everything := func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{v1alpha1.AnnotationPlacementUID: honest.Annotations[v1alpha1.AnnotationPlacementUID], v1alpha1.AnnotationDevices: allDevices(devices)}
	}
	for name, edit := range map[string]func(*corev1.Pod){"copied": copied, "everything": everything} {
		if err := tenant.Create(t.Context(), w.squatter(name, edit)); err == nil || !strings.Contains(err.Error(), "rankwright-bound") {
			t.Errorf("a pod that says what it was bound to: %v, want the refusal of rankwright-bound", err)
		}
	}
	labelled := w.squatter("labelled", nil)
	w.Must(tenant.Create(t.Context(), labelled))
	for _, pod := range []*corev1.Pod{labelled, honest} {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"rankwright.dev/placement-uid":"forged","rankwright.dev/devices":"`+allDevices(devices)+`"}}}`))
		if err := tenant.Patch(t.Context(), pod.DeepCopy(), patch); err == nil || !strings.Contains(err.Error(), "rankwright-bound") {
			t.Errorf("pod %s was bound by its author: %v", pod.Name, err)
		}
	}
	gone := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"rankwright.dev/placement-uid":null}}}`))
	if err := tenant.Patch(t.Context(), honest.DeepCopy(), gone); err == nil || !strings.Contains(err.Error(), "rankwright-bound") {
		t.Errorf("a bound pod forgot what it was bound to: %v", err)
	}

	// Who is released is not held while its node is drained.
	released := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"rankwright.dev/released":"Moved"}}}`))
	if err := tenant.Patch(t.Context(), honest.DeepCopy(), released); err == nil || !strings.Contains(err.Error(), "rankwright-bound") {
		t.Errorf("a pod was released by its author: %v", err)
	}
	selfMade := w.pod("self-made", map[string]string{binding.LabelIndex: "0", v1alpha1.LabelReleased: "Moved"})
	if err := tenant.Create(t.Context(), selfMade); err == nil || !strings.Contains(err.Error(), "rankwright-bound") {
		t.Errorf("a pod was made that is released: %v", err)
	}

	// The placement goes, comes back under its name, and goes again. The pods that only say they are its stay.
	w.Must(tenant.Delete(t.Context(), honest, client.GracePeriodSeconds(0)))
	for range 2 {
		w.Must(tenant.Delete(t.Context(), w.placement("llm", 1, v1alpha1.EnforcementAdvisory)))
		w.Eventually("the placement has no plan", func(ctx context.Context) bool {
			var plans v1alpha1.ShardingPlanList
			w.Must(w.List(ctx, &plans, client.InNamespace(w.Home)))
			return len(plans.Items) == 0
		})
		w.Must(tenant.Create(t.Context(), w.placement("llm", 1, v1alpha1.EnforcementAdvisory)))
		w.Eventually("the placement has a plan", func(ctx context.Context) bool {
			var plans v1alpha1.ShardingPlanList
			w.Must(w.List(ctx, &plans, client.InNamespace(w.Home)))
			return len(plans.Items) == 1
		})
	}
	w.Must(tenant.Delete(t.Context(), w.placement("llm", 1, v1alpha1.EnforcementAdvisory)))
	w.Must(tenant.Create(t.Context(), w.squatter("late", nil)))

	// The victim's placement and plan have the names that the squatters say.
	victim.Must(victim.Create(t.Context(), victim.PlacementOf("llm", devices, 1)))
	victim.awaitPlan("llm-1")
	var squatters corev1.PodList
	w.Must(w.List(t.Context(), &squatters, client.InNamespace(w.Home)))
	if len(squatters.Items) != 2 {
		t.Errorf("%d pods are left of which nothing was to be taken, want 2", len(squatters.Items))
	}
}

func allDevices(count int) string {
	ids := make([]string, count)
	for i := range ids {
		ids[i] = string(operation.DeviceID(i))
	}
	return strings.Join(ids, ",")
}
