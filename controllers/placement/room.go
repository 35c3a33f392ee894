package placement

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/shape"
)

// demand adds to a request what the placement's pods ask of nodes, and returns a text of it that is part of the question. Pods that exist
// count, the ones that wait for a plan too; where there are none, what the placement says of them.
func (r *Reconciler) demand(ctx context.Context, request *shape.Request, now *fleet.Snapshot) (string, error) {
	placement := request.Placement
	var list corev1.PodList
	err := r.Client.List(ctx, &list, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name})
	if err != nil {
		return "", fmt.Errorf("list pods of placement: %w", err)
	}
	asks, tolerations := fleet.DemandOf(placement, list.Items)
	request.Tolerations = tolerations
	request.Pods = launch.OnNodes(placement.Spec.Launch)
	if r.Tally != nil {
		if request.Room, err = r.Tally.Room(ctx, now, placement.Namespace+"/"+placement.Name, asks); err != nil {
			return "", err
		}
	}
	if len(tolerations) == 0 {
		return request.Room.Digest(), nil
	}
	return fmt.Sprintf("%s %v", request.Room.Digest(), tolerations), nil
}

// roomPause is the least time between two looks at the placements that wait for room: pods come and go all the time.
const roomPause = time.Second

// watchRoom asks for the placements that wait when a node has more room than before, until the context ends.
func (r *Reconciler) watchRoom(ctx context.Context, wake chan<- event.GenericEvent) error {
	pause := time.NewTicker(roomPause)
	defer pause.Stop()
	for {
		select {
		case <-r.Tally.Freed:
		case <-ctx.Done():
			return nil
		}
		select {
		case wake <- event.GenericEvent{Object: &v1alpha1.ModelPlacement{}}:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// waitingForRoom returns the placements that were refused while a node had not room for all that its devices could serve.
func (r *Reconciler) waitingForRoom(ctx context.Context, _ client.Object) []reconcile.Request {
	return slices.DeleteFunc(r.waiting(ctx, nil), func(q reconcile.Request) bool { return !r.answers.crowded(q.NamespacedName) })
}

// waitingWithPods returns the placement of a pod if it waits: what its pods ask for may differ from what was known.
func (r *Reconciler) waitingWithPods(ctx context.Context, pod client.Object) []reconcile.Request {
	return requestsOf(r.placementsWhere(ctx, func(p *v1alpha1.ModelPlacement) bool {
		return p.Namespace == pod.GetNamespace() && p.Name == pod.GetLabels()[v1alpha1.LabelPlacement] && wants(p)
	}))
}
