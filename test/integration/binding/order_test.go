package binding

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/test/operation"
)

// Files come late here: the first tries to write each plan's files fail. No pod is bound before its plan's files are written,
// neither to the first plan nor to the next.
func TestPodsAreBoundAfterTheirFilesAreWritten(t *testing.T) {
	w := newWorld(t, "order")
	var tries, bound atomic.Int32
	w.wrap = func(c client.WithWatch) client.WithWatch {
		return interceptor.NewClient(c, interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
				if _, isFiles := object.(*applycore.ConfigMapApplyConfiguration); isFiles && tries.Add(1)%6 != 0 {
					return errors.New("the API server is busy")
				}
				return c.Apply(ctx, object, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				if pod, isPod := object.(*corev1.Pod); isPod && !binding.Gated(pod) {
					bound.Add(1)
					files := &corev1.ConfigMap{}
					key := client.ObjectKey{Namespace: pod.Namespace, Name: launch.ConfigMapName("llm", 0)}
					if err := c.Get(ctx, key, files); err != nil || files.Labels[v1alpha1.LabelPlan] != pod.Labels[v1alpha1.LabelPlan] {
						t.Errorf("pod %s is bound to plan %s with files of %q: %v", pod.Name, pod.Labels[v1alpha1.LabelPlan], files.Labels[v1alpha1.LabelPlan], err)
					}
				}
				return c.Patch(ctx, object, patch, options...)
			},
		})
	}
	w.operate(nil)
	w.placeTwoByTwo(func(spec *v1alpha1.ModelPlacementSpec) { *spec.Replicas = 1 })
	w.runJob(2, 1)
	w.awaitPods(2, "gated", binding.Gated)
	w.addTwoNodes()
	w.awaitPods(2, "scheduled to the first plan", scheduled)

	again := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`))
	w.Must(w.Patch(t.Context(), w.placement("llm", 1, v1alpha1.EnforcementAdvisory), again))
	w.awaitPods(2, "scheduled to the next plan", func(p *corev1.Pod) bool {
		w.asKubelet()
		return scheduled(p) && p.DeletionTimestamp == nil && p.Labels[v1alpha1.LabelPlan] == "llm-2"
	})
	if bound.Load() < 4 {
		t.Errorf("%d pods were bound, and two of each plan should be", bound.Load())
	}
}

// Claims come late here, first to the plan and then to a copy that moved. No pod is bound before its claim selects its devices.
func TestPodsAreBoundAfterTheirClaimsAreMade(t *testing.T) {
	w := newWorld(t, "claimorder")
	w.planner = operation.KeepingFit
	var tries, bound atomic.Int32
	w.wrap = func(c client.WithWatch) client.WithWatch {
		return interceptor.NewClient(c, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if _, isClaim := object.(*resourcev1.ResourceClaim); isClaim && tries.Add(1)%4 != 0 {
					return errors.New("the API server is busy")
				}
				return c.Create(ctx, object, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				pod, isPod := object.(*corev1.Pod)
				if !isPod || binding.Gated(pod) || pod.Spec.NodeName != "" {
					return c.Patch(ctx, object, patch, options...)
				}
				bound.Add(1)
				claim := &resourcev1.ResourceClaim{}
				key := client.ObjectKey{Namespace: pod.Namespace, Name: *pod.Spec.ResourceClaims[0].ResourceClaimName}
				if err := c.Get(ctx, key, claim); err != nil || !strings.Contains(claim.Spec.String(), uuidOf("a", pod.Annotations[v1alpha1.AnnotationDevices])) {
					t.Errorf("pod %s is bound to %s with %s: %v", pod.Name, pod.Annotations[v1alpha1.AnnotationDevices], claim.Spec.String(), err)
				}
				return c.Patch(ctx, object, patch, options...)
			},
		})
	}
	w.operate(nil)
	w.addClaimedNode("a", 3)
	placement := w.PlacementOf("llm", 1, 2)
	placement.Spec.Enforcement = v1alpha1.EnforcementClaim
	w.Must(w.Create(t.Context(), placement))
	w.awaitPlan("llm-1")
	w.runStatefulSet(2)
	w.awaitBound(2, "llm-1")
	w.lose(0)
	w.awaitBound(2, "llm-2")
	if bound.Load() < 3 {
		t.Errorf("%d pods were bound, and two and then one more should be", bound.Load())
	}
}
