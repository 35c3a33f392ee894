package dra

import (
	"context"
	"fmt"
	"slices"
	"sync"

	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// handler answers the kubelet's calls about claims.
type handler struct {
	dra.UnimplementedDRAPluginServer

	options *Options
	// wanted is what is to be offered now; it has no status before anything was detected.
	wanted *await.Value[serving.Wanted]
	// done is told how each operation on a claim went.
	done func(operation, namespace, name string, err error)

	// mu has one claim prepared or unprepared at a time.
	mu         sync.Mutex
	checkpoint *checkpoint
}

// devices returns the devices of prepared claims, by their names in ResourceSlices.
func (h *handler) devices() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.checkpoint.book.devices()
}

// NodePrepareResources has the container runtime know the devices of claims. The kubelet asks again for those that failed,
// and may ask for others again, too.
func (h *handler) NodePrepareResources(ctx context.Context, request *dra.NodePrepareResourcesRequest) (*dra.NodePrepareResourcesResponse, error) {
	answer := &dra.NodePrepareResourcesResponse{Claims: map[string]*dra.NodePrepareResourceResponse{}}
	for _, asked := range request.GetClaims() {
		claim, err := h.read(ctx, asked)
		var devices []*dra.Device
		if err == nil {
			devices, err = h.prepare(ctx, claim)
		}
		h.done(operationPrepare, asked.GetNamespace(), asked.GetName(), err)
		answer.Claims[asked.GetUid()] = &dra.NodePrepareResourceResponse{Devices: devices, Error: textOf(err)}
	}
	return answer, nil
}

// read returns an allocated claim.
func (h *handler) read(ctx context.Context, asked *dra.Claim) (*resourceapi.Claim, error) {
	claim, err := resourceapi.FindClaim(ctx, h.options.Client, asked.GetNamespace(), asked.GetName())
	switch {
	case err != nil:
		return nil, err
	case claim == nil:
		return nil, fmt.Errorf("claim %s/%s: does not exist any more: delete the pod, so that it gets another", asked.GetNamespace(), asked.GetName())
	case string(claim.UID) != asked.GetUid():
		return nil, fmt.Errorf("claim %s/%s: its UID is %s and the kubelet means %s, which is gone: delete the pod, so that it uses the new one",
			claim.Namespace, claim.Name, claim.UID, asked.GetUid())
	case claim.Status.Allocation == nil:
		return nil, fmt.Errorf("claim %s/%s: is not allocated: let a scheduler with DRA place its pod", claim.Namespace, claim.Name)
	}
	return claim, nil
}

// prepare notes a claim before anything of it is there, so that an agent that ends at this moment leaves nothing unknown.
func (h *handler) prepare(ctx context.Context, claim *resourceapi.Claim) ([]*dra.Device, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wanted, _ := h.wanted.Get()
	if wanted.Status == nil {
		return nil, fmt.Errorf("claim %s/%s: no device is known yet: the kubelet asks again", claim.Namespace, claim.Name)
	}
	uid := string(claim.UID)
	a, err := allotted(claim, wanted, h.options.Node, h.checkpoint.book)
	if err != nil {
		return nil, err
	}
	noted := recordOf(claim, a)
	if err := h.makeWay(ctx, claim, noted, wanted.Status); err != nil {
		return nil, err
	}
	names, environment, err := a.injected(h.options.Inject, wanted.Status.Devices)
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	if err := h.checkpoint.keep(h.checkpoint.book.with(uid, noted)); err != nil {
		return nil, fmt.Errorf("claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	delete(h.checkpoint.inherited, uid)
	more, err := h.options.CDIFolder.KeepClaim(uid, environment)
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s: variables of its containers: %w", claim.Namespace, claim.Name, err)
	}
	return a.prepared(names, more), nil
}

// makeWay says which device of a claim another one has. One of the agent before that is gone, or no longer allocated, has none:
// its kubelet will not say that it is done with it. Of one that this agent prepared, the kubelet will: its containers may run for
// a moment longer than the API server knows of it.
func (h *handler) makeWay(ctx context.Context, claim *resourceapi.Claim, wanted record, status *v1alpha1.AcceleratorInventoryStatus) error {
	for {
		c := h.checkpoint.book.conflict(string(claim.UID), wanted)
		if c == nil {
			return nil
		}
		if !h.checkpoint.inherited[c.uid] || holds(claim, status, c.device, false) || h.allocated(ctx, c) {
			return fmt.Errorf("claim %s/%s: device %s is prepared for claim %s/%s: delete one of the two; if that one is gone for long, restart the node agent",
				claim.Namespace, claim.Name, c.device, c.other.Namespace, c.other.Name)
		}
		if err := h.forget(c.uid); err != nil {
			return fmt.Errorf("claim %s/%s: variables of claim %s/%s, which is gone: %w", claim.Namespace, claim.Name, c.other.Namespace, c.other.Name, err)
		}
	}
}

// allocated says whether the other claim of a conflict has the device, as far as is known.
func (h *handler) allocated(ctx context.Context, c *conflict) bool {
	other, err := resourceapi.FindClaim(ctx, h.options.Client, c.other.Namespace, c.other.Name)
	if err != nil || other == nil {
		return err != nil
	}
	return string(other.UID) == c.uid && other.Status.Allocation != nil &&
		slices.ContainsFunc(other.Status.Allocation.Devices.Results, func(r resourceapi.Result) bool {
			return r.Driver == v1alpha1.DRADriver && r.Pool == h.options.Node && r.Device == devicename.Of(c.device)
		})
}

// NodeUnprepareResources forgets claims, whether or not they were prepared.
func (h *handler) NodeUnprepareResources(_ context.Context, request *dra.NodeUnprepareResourcesRequest) (*dra.NodeUnprepareResourcesResponse, error) {
	answer := &dra.NodeUnprepareResourcesResponse{Claims: map[string]*dra.NodeUnprepareResourceResponse{}}
	for _, asked := range request.GetClaims() {
		err := h.unprepare(asked)
		h.done(operationUnprepare, asked.GetNamespace(), asked.GetName(), err)
		answer.Claims[asked.GetUid()] = &dra.NodeUnprepareResourceResponse{Error: textOf(err)}
	}
	return answer, nil
}

func (h *handler) unprepare(asked *dra.Claim) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.forget(asked.GetUid()); err != nil {
		return fmt.Errorf("claim %s/%s: %w", asked.GetNamespace(), asked.GetName(), err)
	}
	return nil
}

// forget removes what there is of a claim, its record last.
func (h *handler) forget(uid string) error {
	if err := h.options.CDIFolder.RemoveClaim(uid); err != nil {
		return err
	}
	return h.checkpoint.keep(h.checkpoint.book.without(uid))
}

// textOf is an error as the kubelet takes it: empty where there is none.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
