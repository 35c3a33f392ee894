package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// publisher keeps the ResourceSlices of a node.
type publisher struct {
	client dynamic.Interface
	node   string
	// untaintable says that the API server was seen to drop taints.
	untaintable bool
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
	if p.untaintable {
		devices = withoutTaints(devices)
	}
	c := changeTo(slicesOf(devices, node), there)
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
	selector := fields.Set{"spec.nodeName": p.node, "spec.driver": v1alpha1.ClaimDriver}
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

// write applies a slice, and learns from the answer whether the API server takes taints.
func (p *publisher) write(ctx context.Context, slice *resourceSlice) error {
	content, err := json.Marshal(slice)
	var answer *unstructured.Unstructured
	if err == nil {
		answer, err = p.client.Resource(resourceSlices).Patch(ctx, slice.Name, types.ApplyPatchType, content,
			metav1.PatchOptions{FieldManager: v1alpha1.NodeAgentFieldManager, Force: ptr.To(true)})
	}
	if err != nil {
		return fmt.Errorf("apply ResourceSlice %s: %w", slice.Name, err)
	}
	written := resourceSlice{}
	if err := convert(answer, &written); err != nil {
		return err
	}
	p.untaintable = p.untaintable || tainted(slice) && !tainted(&written)
	return nil
}

func tainted(slice *resourceSlice) bool {
	return slices.ContainsFunc(slice.Spec.Devices, func(d Device) bool { return len(d.Taints) > 0 })
}

func withoutTaints(devices []Device) []Device {
	plain := slices.Clone(devices)
	for i := range plain {
		plain[i].Taints = nil
	}
	return plain
}

func (p *publisher) remove(ctx context.Context, slice *resourceSlice) error {
	err := p.client.Resource(resourceSlices).Delete(ctx, slice.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(slice.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ResourceSlice %s: %w", slice.Name, err)
	}
	return nil
}

// readClaim returns an allocated claim of a UID.
func (p *publisher) readClaim(ctx context.Context, namespace, name, uid string) (*resourceClaim, error) {
	read, err := p.client.Resource(resourceClaims).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s: %w", namespace, name, err)
	}
	claim := &resourceClaim{}
	if err := convert(read, claim); err != nil {
		return nil, err
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
