package placement

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/internal/words"
)

// expire frees the devices of a placement that has had no pod for as long as it allows, and ends the pass. The time is counted in the
// status, so that it goes on when another operator takes over. Another spec begins it anew.
func (r *Reconciler) expire(ctx context.Context, p *pass) error {
	ttl := p.placement.Spec.TTLSecondsWithoutPods
	if ttl == nil {
		return nil
	}
	if has, err := hasPods(ctx, r.Client, p.placement); err != nil || has {
		return err
	}
	said, now := &p.placement.Status, metav1.NewTime(r.Now()).Rfc3339Copy()
	p.withoutPods = &now
	if said.WithoutPodsSince != nil && said.ObservedGeneration == p.placement.Generation {
		p.withoutPods = said.WithoutPodsSince
	}
	if r.Now().Before(p.expiry()) {
		return nil
	}
	if len(p.plans) > 0 {
		if err := r.confirmExpiry(ctx, p); err != nil {
			return err
		}
	}
	return r.giveBack(ctx, p, v1alpha1.ReasonExpired, fmt.Sprintf("No pod had the label %s=%s for %s: no devices are reserved any more. "+
		"The model is placed again when there is such a pod, or when the spec changes, be it spec.replanRequest or spec.ttlSecondsWithoutPods.",
		v1alpha1.LabelPlacement, p.placement.Name, words.Counted(*ttl, "second")))
}

// confirmExpiry asks the API server whether the placement is as the cache has it, and without pods: what the informers have not heard of
// yet must not cost it its devices.
func (r *Reconciler) confirmExpiry(ctx context.Context, p *pass) error {
	current := &v1alpha1.ModelPlacement{}
	there, err := objects.Read(ctx, r.Reader, client.ObjectKeyFromObject(p.placement), current)
	if err != nil {
		return err
	}
	if !there || current.UID != p.placement.UID || current.Generation != p.placement.Generation || !current.Status.WithoutPodsSince.Equal(p.withoutPods) {
		return fmt.Errorf("placement %s changed while it expired: %w", p.placement.Name, ledger.ErrConflict)
	}
	has, err := hasPods(ctx, r.Reader, p.placement)
	if err == nil && has {
		return fmt.Errorf("placement %s got a pod while it expired: %w", p.placement.Name, ledger.ErrConflict)
	}
	return err
}

// expiry is when the placement of a pass gives its devices back if no pod comes; zero where it keeps them.
func (p *pass) expiry() time.Time {
	if p.withoutPods == nil {
		return time.Time{}
	}
	return p.withoutPods.Add(time.Duration(*p.placement.Spec.TTLSecondsWithoutPods) * time.Second)
}

// expired says whether the pass found that the placement gives its devices back.
func (p *pass) expired() bool {
	return p.report.plan != nil && p.report.plan.reason == v1alpha1.ReasonExpired
}

// hasPods says whether a placement has a pod that has not ended, bound to it or not bound to any yet.
func hasPods(ctx context.Context, reader client.Reader, placement *v1alpha1.ModelPlacement) (bool, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name})
	if err != nil {
		return false, fmt.Errorf("list pods of placement: %w", err)
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		of := pod.Annotations[v1alpha1.AnnotationPlacementUID]
		return (of == "" || of == string(placement.UID)) && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	}), nil
}

// awaitingPod returns the placement of a new pod where it is counted since when there is none.
func (r *Reconciler) awaitingPod(ctx context.Context, pod client.Object) []reconcile.Request {
	requests := relation.PlacementOf(ctx, pod)
	return slices.DeleteFunc(requests, func(of reconcile.Request) bool {
		placement := &v1alpha1.ModelPlacement{}
		found, err := objects.Read(ctx, r.Client, of.NamespacedName, placement)
		return err == nil && (!found || placement.Spec.TTLSecondsWithoutPods == nil)
	})
}
