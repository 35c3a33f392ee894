package nodeagent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// slicesInterval is the shortest time between two looks at ResourceSlices for a device that is in none.
const slicesInterval = time.Minute

// kubeletView works out who holds and who serves the devices, from what the kubelet, DRA drivers and the Node say. The zero
// value knows nothing of a kubelet.
type kubeletView struct {
	// state returns the kubelet's last answer; nil where no kubelet is to be asked.
	state func() podresources.State
	// slices reads what DRA drivers publish for this node. It needs a right that is optional.
	slices func(context.Context) (podresources.Published, error)
	// serves says which resources this agent serves; nil means only those of the product's own domain.
	serves func(resource string) bool
	// admin tells pods that look at devices from those that have them.
	admin adminAccess
	log   *slog.Logger

	published  podresources.Published
	lookedAt   time.Time
	succession podresources.Succession
	recalled   bool
}

// seen is what a look at the kubelet showed. rows is nil where the allocations are as they were.
type seen struct {
	held       podresources.Allocations
	rows       *[]v1alpha1.Allocation
	owners     podresources.Owners
	selectors  map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute
	conditions []metav1.Condition
	// next is when an owner that is away loses its devices, if nothing is heard of it.
	next time.Time
}

// look asks who holds and who serves the devices that were detected, or published before and not detected: they may still be
// there. allocatable are the Node's extended resources.
func (v *kubeletView) look(ctx context.Context, previous *known, detected detection, allocatable map[string]int64, now time.Time) seen {
	if v.state == nil {
		return seen{}
	}
	state := v.state()
	published := &previous.status
	v.readSlices(ctx, state, detected.scan != previous.scan, now)
	hardware := podresources.NewHardware(allDevices(detected.status.Devices, published.Devices), v.published)
	if state.Answer != nil {
		taking := *state.Answer
		taking.Grants = v.admin.taking(ctx, taking.Grants, hardware)
		state.Answer = &taking
	}
	held, known := heldNow(state, hardware, published.Allocations)
	if !v.recalled {
		v.succession.Recall(published.Devices, now)
		v.recalled = true
	}
	result := seen{held: held}
	if known {
		result.rows = &held.Rows
	}
	result.owners, result.next = v.succession.Update(hardware.Owners(v.evidence(state, allocatable)), now)
	result.selectors = hardware.Selectors(result.owners)
	result.conditions = allocationsCondition(state, held)
	return result
}

func (v *kubeletView) evidence(state podresources.State, allocatable map[string]int64) podresources.Evidence {
	evidence := podresources.Evidence{Published: v.published, Allocatable: allocatable, Ours: v.serves}
	if state.Answer != nil && !state.NoKubelet {
		evidence.Offered = append([]podresources.Name{}, state.Answer.Offered...)
	}
	return evidence
}

// readSlices looks at ResourceSlices with every detection, and when a pod holds a device that is in none. What cannot be
// read stays as it was.
func (v *kubeletView) readSlices(ctx context.Context, state podresources.State, detected bool, now time.Time) {
	missing := false
	if state.Answer != nil && now.Sub(v.lookedAt) >= slicesInterval {
		for _, grant := range state.Answer.Grants {
			_, known := v.published[grant.Name]
			missing = missing || grant.Name.Server == v1alpha1.ServedByDRA && !known
		}
	}
	if v.slices == nil || !detected && !missing {
		return
	}
	v.lookedAt = now
	published, err := v.slices(ctx)
	if err != nil {
		v.log.Debug("devices of DRA drivers are told by their names alone", "error", err)
		return
	}
	v.published = published
}

// sliceReader reads the ResourceSlices of a node.
func sliceReader(c dynamic.Interface, node string) func(context.Context) (podresources.Published, error) {
	return func(ctx context.Context) (podresources.Published, error) {
		list, err := resourceapi.ListSlices(ctx, c, node, "")
		published := podresources.Published{}
		for i := range list {
			published.Add(&list[i])
		}
		return published, err
	}
}

// extendedResources returns the extended resources of what a Node's kubelet gives out, whose names have a domain, with their
// numbers.
func extendedResources(allocatable map[string]string) map[string]int64 {
	extended := map[string]int64{}
	for name, quantity := range allocatable {
		var number int64
		if _, err := fmt.Sscanf(quantity, "%d", &number); err == nil && strings.Contains(name, "/") {
			extended[name] = number
		}
	}
	return extended
}
