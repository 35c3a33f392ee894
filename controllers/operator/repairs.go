package operator

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/controllers/repair"
)

// setUpRepairs completes the controller of repairs and adds it to the manager, where there are settings.
func setUpRepairs(ctx context.Context, mgr manager.Manager, direct, cached client.Client, r *repair.Reconciler, options Options) error {
	if r.Settings == nil {
		return nil
	}
	var err error
	r.Client, r.Reader = cached, direct
	r.Book = &repair.Book{Reader: direct, Writer: direct, Namespace: options.Namespace}
	r.Rules = &repair.Rules{Client: direct, Effect: r.Settings.TaintEffect}
	if r.Rules.Kind, err = repair.FindRules(mgr.GetRESTMapper()); err != nil {
		return err
	}
	if r.Metrics, err = repair.NewMetrics(options.Registry, mgr.GetCache()); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if r.Settings.Repairs() {
		account, err := client.NewWithWatch(r.Settings.Impersonate(mgr.GetConfig()), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
		if err != nil {
			return fmt.Errorf("client of the repairs' service account: %w", err)
		}
		if r.Account = account; options.Wrap != nil {
			r.Account = options.Wrap(account)
		}
	}
	return r.Setup(ctx, mgr)
}
