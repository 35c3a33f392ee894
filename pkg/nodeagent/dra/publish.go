package dra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// publisher keeps the ResourceSlices of a node.
type publisher struct {
	client dynamic.Interface
	node   string
	clock  clock.PassiveClock
	taints taintSupport
}

// publish makes the ResourceSlices as they should be, and says what it changed.
func (p *publisher) publish(ctx context.Context, devices []resourceapi.Device) (change, error) {
	there, err := p.read(ctx)
	if err != nil {
		return change{}, err
	}
	node, err := p.readNode(ctx)
	if err != nil {
		return change{}, err
	}
	if !hasTaints(devices) {
		return p.change(ctx, slicesOf(devices, node), there)
	}
	lasting, err := p.taintsLast(ctx, slicesOf(devices, node), there)
	if err != nil {
		return change{}, err
	}
	var changed change
	if lasting {
		if changed, err = p.change(ctx, slicesOf(devices, node), there); err != nil || p.taints.last {
			return changed, err
		}
		// What was written just now is in reach of everybody: the taints did not come through.
		if there, err = p.read(ctx); err != nil {
			return changed, err
		}
	}
	return p.change(ctx, slicesOf(withoutTaints(devices), node), there)
}

// change makes the slices that are there those that are wanted.
func (p *publisher) change(ctx context.Context, wanted, there []resourceapi.Slice) (change, error) {
	c := changeTo(wanted, there)
	var errs []error
	for i := range c.write {
		errs = append(errs, p.write(ctx, &c.write[i]))
	}
	for i := range c.remove {
		errs = append(errs, p.remove(ctx, &c.remove[i]))
	}
	return c, errors.Join(errs...)
}

// read returns the driver's ResourceSlices of the node.
func (p *publisher) read(ctx context.Context) ([]resourceapi.Slice, error) {
	there, err := resourceapi.ListSlices(ctx, p.client, p.node, v1alpha1.DRADriver)
	if apierrors.IsNotFound(err) {
		return nil, errors.New("the API server has no resource.k8s.io/v1: through: DRA needs Kubernetes 1.34 or newer, take through: DevicePlugin")
	}
	return there, err
}

func (p *publisher) readNode(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	read, err := p.client.Resource(nodes).Get(ctx, p.node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read Node %s, which is to own its ResourceSlices: %w", p.node, err)
	}
	return resourceapi.As[metav1.PartialObjectMetadata](read)
}

// write applies a slice, and learns from the answer where its taints do not last.
func (p *publisher) write(ctx context.Context, slice *resourceapi.Slice) error {
	written, err := p.apply(ctx, slice, metav1.PatchOptions{})
	if err == nil && !sameTaints(slice, written) {
		p.taints.saw(false, p.clock.Now())
	}
	return err
}

// apply returns the slice as the API server has it.
func (p *publisher) apply(ctx context.Context, slice *resourceapi.Slice, options metav1.PatchOptions) (*resourceapi.Slice, error) {
	options.FieldManager, options.Force = v1alpha1.NodeAgentFieldManager, ptr.To(true)
	content, err := json.Marshal(slice)
	var answer *unstructured.Unstructured
	if err == nil {
		answer, err = p.client.Resource(resourceapi.Slices).Patch(ctx, slice.Name, types.ApplyPatchType, content, options)
	}
	if err != nil {
		return nil, fmt.Errorf("apply ResourceSlice %s: %w", slice.Name, err)
	}
	return resourceapi.As[resourceapi.Slice](answer)
}

func (p *publisher) remove(ctx context.Context, slice *resourceapi.Slice) error {
	err := p.client.Resource(resourceapi.Slices).Delete(ctx, slice.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(slice.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ResourceSlice %s: %w", slice.Name, err)
	}
	return nil
}
