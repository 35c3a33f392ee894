package dra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// publisher keeps the ResourceSlices of a node.
type publisher struct {
	client dynamic.Interface
	node   string
	clock  clock.PassiveClock
	taints taintSupport
}

// publish makes the ResourceSlices as they should be, and says what it changed.
func (p *publisher) publish(ctx context.Context, devices []Device) (change, error) {
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
func (p *publisher) change(ctx context.Context, wanted, there []resourceSlice) (change, error) {
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
func (p *publisher) read(ctx context.Context) ([]resourceSlice, error) {
	selector := fields.Set{"spec.nodeName": p.node, "spec.driver": v1alpha1.DRADriver}
	list, err := p.client.Resource(resourceSlices).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
	if apierrors.IsNotFound(err) {
		return nil, errors.New("the API server has no resource.k8s.io/v1: through: DRA needs Kubernetes 1.34 or newer, take through: DevicePlugin")
	}
	if err != nil {
		return nil, fmt.Errorf("list ResourceSlices of Node %s: %w", p.node, err)
	}
	there := make([]resourceSlice, len(list.Items))
	for i := range list.Items {
		if err := convert(&list.Items[i], &there[i]); err != nil {
			return nil, err
		}
	}
	return there, nil
}

func (p *publisher) readNode(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	read, err := p.client.Resource(nodes).Get(ctx, p.node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read Node %s, which is to own its ResourceSlices: %w", p.node, err)
	}
	node := &metav1.PartialObjectMetadata{}
	return node, convert(read, node)
}

// write applies a slice, and learns from the answer where its taints do not last.
func (p *publisher) write(ctx context.Context, slice *resourceSlice) error {
	written, err := p.apply(ctx, slice, metav1.PatchOptions{})
	if err == nil && !sameTaints(slice, written) {
		p.taints.saw(false, p.clock.Now())
	}
	return err
}

// apply returns the slice as the API server has it.
func (p *publisher) apply(ctx context.Context, slice *resourceSlice, options metav1.PatchOptions) (*resourceSlice, error) {
	options.FieldManager, options.Force = v1alpha1.NodeAgentFieldManager, ptr.To(true)
	content, err := json.Marshal(slice)
	var answer *unstructured.Unstructured
	if err == nil {
		answer, err = p.client.Resource(resourceSlices).Patch(ctx, slice.Name, types.ApplyPatchType, content, options)
	}
	if err != nil {
		return nil, fmt.Errorf("apply ResourceSlice %s: %w", slice.Name, err)
	}
	written := &resourceSlice{}
	return written, convert(answer, written)
}

func (p *publisher) remove(ctx context.Context, slice *resourceSlice) error {
	err := p.client.Resource(resourceSlices).Delete(ctx, slice.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(slice.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ResourceSlice %s: %w", slice.Name, err)
	}
	return nil
}

// findClaim returns a claim, nil where there is none.
func (p *publisher) findClaim(ctx context.Context, namespace, name string) (*resourceClaim, error) {
	read, err := p.client.Resource(resourceClaims).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s: %w", namespace, name, err)
	}
	claim := &resourceClaim{}
	return claim, convert(read, claim)
}

// readClaim returns an allocated claim of a UID.
func (p *publisher) readClaim(ctx context.Context, namespace, name, uid string) (*resourceClaim, error) {
	claim, err := p.findClaim(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if claim == nil {
		return nil, fmt.Errorf("claim %s/%s: does not exist any more: delete the pod, so that it gets another", namespace, name)
	}
	switch {
	case string(claim.UID) != uid:
		return nil, fmt.Errorf("claim %s/%s: its UID is %s and the kubelet means %s, which is gone: delete the pod, so that it uses the new one",
			namespace, name, claim.UID, uid)
	case claim.Status.Allocation == nil:
		return nil, fmt.Errorf("claim %s/%s: is not allocated: let a scheduler with DRA place its pod", namespace, name)
	}
	return claim, nil
}

// convert reads an object into a typed value.
func convert(from *unstructured.Unstructured, into any) error {
	content, err := from.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", from.GetKind(), from.GetName(), err)
	}
	return nil
}
