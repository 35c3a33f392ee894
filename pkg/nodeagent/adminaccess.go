package nodeagent

import (
	"context"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// adminAccess tells the pods that look at devices from those that have them: a claim with adminAccess gives sight of a device
// whoever holds it, for monitoring and maintenance, and the kubelet's answer does not say so. The zero value takes every grant
// for one that holds its device.
type adminAccess struct {
	// read says of the devices of a claim whether they are only looked at; nil where there is no such claim.
	read func(ctx context.Context, namespace, name string) (map[podresources.Name]bool, error)
	log  *slog.Logger
	// holding are the grants by claims that were seen to hold their devices, whichever container of the pod has them.
	holding map[podresources.Grant]bool
}

// taking are the grants that hold their devices. A claim that holds devices is read once for each of its pods, one that only
// looks at them each time: another of its name could hold them by now. One that cannot be read holds what it has.
func (a *adminAccess) taking(ctx context.Context, grants []podresources.Grant, hardware *podresources.Hardware) []podresources.Grant {
	holding, asked := map[podresources.Grant]bool{}, map[types.NamespacedName]map[podresources.Name]bool{}
	var taking []podresources.Grant
	for _, g := range grants {
		if g.Claim == "" || a.read == nil || len(hardware.Find(g.Name)) == 0 {
			taking = append(taking, g)
			continue
		}
		ofPod, claim := g, types.NamespacedName{Namespace: g.Namespace, Name: g.Claim}
		ofPod.Container = ""
		looks, known := asked[claim]
		if !known && !a.holding[ofPod] {
			looks = a.ask(ctx, claim)
			asked[claim] = looks
		}
		if looks[g.Name] {
			continue
		}
		taking = append(taking, g)
		if _, said := looks[g.Name]; said || a.holding[ofPod] {
			holding[ofPod] = true
		}
	}
	a.holding = holding
	return taking
}

func (a *adminAccess) ask(ctx context.Context, claim types.NamespacedName) map[podresources.Name]bool {
	looks, err := a.read(ctx, claim.Namespace, claim.Name)
	if err != nil {
		a.log.Debug("a claim is taken to hold its devices", "namespace", claim.Namespace, "claim", claim.Name, "error", err)
	}
	return looks
}

// claimReader reads ResourceClaims.
func claimReader(c dynamic.Interface) func(ctx context.Context, namespace, name string) (map[podresources.Name]bool, error) {
	return func(ctx context.Context, namespace, name string) (map[podresources.Name]bool, error) {
		claim, err := c.Resource(resourceClaims).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read ResourceClaim %s/%s: %w", namespace, name, err)
		}
		return looksOf(claim)
	}
}

// looksOf says of the devices of a claim whether they are only looked at. A device that two requests got is held where one of
// them holds it.
func looksOf(claim *unstructured.Unstructured) (map[podresources.Name]bool, error) {
	var read struct {
		Status struct {
			Allocation struct {
				Devices struct {
					Results []struct {
						Driver      string `json:"driver"`
						Pool        string `json:"pool"`
						Device      string `json:"device"`
						AdminAccess bool   `json:"adminAccess"`
					} `json:"results"`
				} `json:"devices"`
			} `json:"allocation"`
		} `json:"status"`
	}
	if err := fromObject(claim, &read); err != nil {
		return nil, err
	}
	looks := map[podresources.Name]bool{}
	for _, r := range read.Status.Allocation.Devices.Results {
		name := podresources.Name{Server: v1alpha1.ServedByDRA, Resource: r.Driver, Pool: r.Pool, Device: r.Device}
		before, twice := looks[name]
		looks[name] = r.AdminAccess && (before || !twice)
	}
	return looks, nil
}
