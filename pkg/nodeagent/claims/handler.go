package claims

import (
	"context"
	"fmt"
	"sync"

	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// handler answers the kubelet's calls about claims.
type handler struct {
	dra.UnimplementedDRAPluginServer

	options   *Options
	publisher *publisher
	// wanted is what is to be offered now; known is false before anything was detected.
	wanted func() (wanted serving.Wanted, known bool)
	// done is told how each operation on a claim went.
	done func(operation, namespace, name string, err error)

	// mu has one claim prepared or unprepared at a time.
	mu   sync.Mutex
	book book
}

// NodePrepareResources has the container runtime know the devices of claims. The kubelet asks again for those that failed,
// and may ask for others again, too.
func (h *handler) NodePrepareResources(ctx context.Context, request *dra.NodePrepareResourcesRequest) (*dra.NodePrepareResourcesResponse, error) {
	answer := &dra.NodePrepareResourcesResponse{Claims: map[string]*dra.NodePrepareResourceResponse{}}
	for _, asked := range request.GetClaims() {
		claim, err := h.publisher.readClaim(ctx, asked.GetNamespace(), asked.GetName(), asked.GetUid())
		var devices []*dra.Device
		if err == nil {
			devices, err = h.prepare(claim)
		}
		h.done(operationPrepare, asked.GetNamespace(), asked.GetName(), err)
		answer.Claims[asked.GetUid()] = &dra.NodePrepareResourceResponse{Devices: devices, Error: textOf(err)}
	}
	return answer, nil
}

func (h *handler) prepare(claim *resourceClaim) ([]*dra.Device, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wanted, known := h.wanted()
	if !known {
		return nil, fmt.Errorf("claim %s/%s: no device is known yet: the kubelet asks again", claim.Namespace, claim.Name)
	}
	a, err := allotted(claim, wanted, h.options.Node)
	if err != nil {
		return nil, err
	}
	if err := h.book.check(claim, a); err != nil {
		return nil, err
	}
	names, environment, err := a.injected(h.options.Inject, wanted.Status.Devices)
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	more, err := h.options.CDIFolder.KeepClaim(string(claim.UID), environment)
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s: variables of its containers: %w", claim.Namespace, claim.Name, err)
	}
	h.book.enter(claim, a)
	return a.prepared(names, more), nil
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
	if err := h.options.CDIFolder.RemoveClaim(asked.GetUid()); err != nil {
		return fmt.Errorf("claim %s/%s: %w", asked.GetNamespace(), asked.GetName(), err)
	}
	h.book.strike(asked.GetUid())
	return nil
}

// textOf is an error as the kubelet takes it: empty where there is none.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
