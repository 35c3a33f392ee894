package dra

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// askAgain is the time after which an API server that dropped taints is asked whether it still does: it may have been
// upgraded, or another one answer.
const askAgain = 10 * time.Minute

// taintSupport is what was seen of what the API server does with the taints of devices. The zero value has seen nothing.
type taintSupport struct {
	last bool
	at   time.Time
}

func (s *taintSupport) saw(last bool, now time.Time) { s.last, s.at = last, now }

// taintsLast says whether the taints of slices will be there when they are written. Before it was seen once, the API server
// is asked for a write that it does not carry out: a device that new pods may not get must never be listed without its taint.
func (p *publisher) taintsLast(ctx context.Context, wanted, there []resourceapi.Slice) (bool, error) {
	if p.taints.last || !p.taints.at.IsZero() && p.clock.Since(p.taints.at) < askAgain {
		return p.taints.last, nil
	}
	for _, slice := range changeTo(wanted, there).write {
		if !hasTaints(slice.Spec.Devices) {
			continue
		}
		written, err := p.apply(ctx, &slice, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && !apierrors.IsBadRequest(err) {
			return false, err
		}
		// A webhook that cannot be asked without a write refuses with BadRequest: nothing is seen to last.
		p.taints.saw(err == nil && sameTaints(&slice, written), p.clock.Now())
		return p.taints.last, nil
	}
	// All is there already, with its taints.
	p.taints.saw(true, p.clock.Now())
	return true, nil
}

func hasTaints(devices []resourceapi.Device) bool {
	return slices.ContainsFunc(devices, func(d resourceapi.Device) bool { return len(d.Taints) > 0 })
}

// sameTaints says whether the devices of a slice have the taints that they were written with.
func sameTaints(wanted, written *resourceapi.Slice) bool {
	return slices.EqualFunc(wanted.Spec.Devices, written.Spec.Devices, func(a, b resourceapi.Device) bool { return len(a.Taints) == len(b.Taints) })
}
