package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/site"
)

// sites keeps what the cluster's calibrations say until one changes. The zero value is ready.
type sites struct {
	mu       sync.Mutex
	version  string
	compiled *site.Compiled
}

// aging is how often it is looked whether measurements have become old: they age by months.
const aging = 7 * 24 * time.Hour

// Site returns what the cluster's calibrations say, nil where there is none.
func (r *Reconciler) Site(ctx context.Context) (*site.Compiled, error) {
	compiled, _, err := r.calibrations(ctx)
	return compiled, err
}

// calibrations returns what the cluster's calibrations say, nil where there is none, and their versions, which are part of what a plan depends on.
func (r *Reconciler) calibrations(ctx context.Context) (*site.Compiled, string, error) {
	var list v1alpha1.SiteCalibrationList
	if err := r.Client.List(ctx, &list); err != nil {
		return nil, "", fmt.Errorf("list SiteCalibrations: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, "", nil
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.SiteCalibration) int { return strings.Compare(a.Name, b.Name) })
	now := r.Now()
	version := fmt.Sprint(now.Unix() / int64(aging/time.Second))
	for i := range list.Items {
		version += " " + string(list.Items[i].UID) + "/" + list.Items[i].ResourceVersion
	}
	s := &r.sites
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != version {
		compiled, failures := site.Compile(list.Items, now)
		for _, err := range failures {
			ctrl.LoggerFrom(ctx).Info("a measurement is left out", "reason", err.Error())
		}
		s.version, s.compiled = version, compiled
	}
	return s.compiled, version, nil
}
