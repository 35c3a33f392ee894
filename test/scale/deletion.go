package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
)

// deletion deletes all placements, and waits until no plan is left and the ledger awaits none.
func (r *run) deletion(ctx context.Context) error {
	begun := r.clock()
	used, err := r.used(ctx, func() error { return r.deletePlacements(ctx) })
	if err != nil {
		return err
	}
	r.report.addDeletion(r.clock().Sub(begun), used, r.Placements)
	if err := r.until(ctx, r.ledgerRests); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	r.report.add("from the deletion until the ledger has nothing of these plans", seconds(r.clock().Sub(begun)))
	figures, err := r.operator.Figures(ctx)
	if err != nil {
		return err
	}
	r.report.addMemory(max(r.peak, figures.Peak), figures.Resident, r.Options.Nodes)
	return nil
}

func (r *run) deletePlacements(ctx context.Context) error {
	if err := r.Client.DeleteAllOf(ctx, &v1alpha1.ModelPlacement{}, client.InNamespace(Home)); err != nil {
		return fmt.Errorf("delete placements: %w", err)
	}
	err := r.until(ctx, func(ctx context.Context) (bool, error) {
		var left v1alpha1.ShardingPlanList
		err := r.Client.List(ctx, &left, client.InNamespace(Home), client.Limit(1))
		return len(left.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("plans of placements that are gone: %w", err)
	}
	return nil
}

// until asks again and again whether something holds.
func (r *run) until(ctx context.Context, holds func(context.Context) (bool, error)) error {
	const poll = 100 * time.Millisecond
	if err := wait.PollUntilContextCancel(ctx, poll, true, holds); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}

// ledgerRests says whether no plan is committed and not yet in force.
func (r *run) ledgerRests(ctx context.Context) (bool, error) {
	var kept corev1.ConfigMap
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: ledger.Name}, &kept); err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	var record struct {
		Pending []json.RawMessage `json:"pending"`
	}
	if err := json.Unmarshal([]byte(kept.Data["record"]), &record); err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	return len(record.Pending) == 0, nil
}
