package nodeagent

import (
	"context"
	"log/slog"

	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// adminAccess tells the pods that look at devices from those that have them: a claim with adminAccess gives sight of a device
// whoever holds it, for monitoring and maintenance, and the kubelet's answer does not say so. The zero value takes every grant
// for one that holds its device.
type adminAccess struct {
	// read says of the devices of a claim whether they are only looked at; nil where there is no such claim.
	read func(ctx context.Context, namespace, name string) (map[podresources.Name]bool, error)
	log  *slog.Logger
	// holding are the uses of claims that were seen to hold devices, with those devices.
	holding map[claimUse]map[podresources.Name]bool
}

// claimUse is a claim of a pod.
type claimUse struct{ namespace, pod, claim string }

// taking are the grants that hold their devices. A claim that holds devices is read once for each of its pods, one that only
// looks at them each time: another of its name could hold them by now. One that cannot be read holds what it has.
func (a *adminAccess) taking(ctx context.Context, grants []podresources.Grant, hardware *podresources.Hardware) []podresources.Grant {
	holding, asked := map[claimUse]map[podresources.Name]bool{}, map[claimUse]map[podresources.Name]bool{}
	var taking []podresources.Grant
	for _, g := range grants {
		if g.Claim == "" || a.read == nil || len(hardware.Find(g.Name)) == 0 {
			taking = append(taking, g)
			continue
		}
		use := claimUse{g.Namespace, g.Pod, g.Claim}
		looks, known := asked[use]
		if !known && !a.holding[use][g.Name] {
			looks = a.ask(ctx, use)
			asked[use] = looks
		}
		if looks[g.Name] {
			continue
		}
		taking = append(taking, g)
		if _, said := looks[g.Name]; said || a.holding[use][g.Name] {
			if holding[use] == nil {
				holding[use] = map[podresources.Name]bool{}
			}
			holding[use][g.Name] = true
		}
	}
	a.holding = holding
	return taking
}

func (a *adminAccess) ask(ctx context.Context, use claimUse) map[podresources.Name]bool {
	looks, err := a.read(ctx, use.namespace, use.claim)
	if err != nil {
		a.log.Debug("a claim is taken to hold its devices", "namespace", use.namespace, "claim", use.claim, "error", err)
	}
	return looks
}

// claimReader reads ResourceClaims.
func claimReader(c dynamic.Interface) func(ctx context.Context, namespace, name string) (map[podresources.Name]bool, error) {
	return func(ctx context.Context, namespace, name string) (map[podresources.Name]bool, error) {
		claim, err := resourceapi.FindClaim(ctx, c, namespace, name)
		if claim == nil || err != nil || claim.Status.Allocation == nil {
			return nil, err
		}
		return looksOf(claim.Status.Allocation), nil
	}
}

// looksOf says of the devices of a claim whether they are only looked at. A device that two requests got is held where one of
// them holds it.
func looksOf(allocated *resourceapi.Allocation) map[podresources.Name]bool {
	looks := map[podresources.Name]bool{}
	for _, r := range allocated.Devices.Results {
		name := podresources.Name{Server: v1alpha1.ServedByDRA, Resource: r.Driver, Pool: r.Pool, Device: r.Device}
		before, twice := looks[name]
		looks[name] = r.AdminAccess && (before || !twice)
	}
	return looks
}
