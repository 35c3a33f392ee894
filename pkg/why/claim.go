package why

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// claimCauses are about pods that are not scheduled because of a ResourceClaim.
var claimCauses = []cause[*corev1.Pod]{
	{
		reason: "ClaimMissing", is: func(c *Case, p *corev1.Pod) bool { return unscheduled(p) && c.missingClaim(p) != "" },
		cause: func(c *Case, p *corev1.Pod) string {
			return "The pod waits for a ResourceClaim that does not exist: " + c.missingClaim(p)
		},
		evidence: func(_ *Case, p *corev1.Pod) []string { return []string{conditionText(p, corev1.PodScheduled)} },
		commands: func(_ *Case, p *corev1.Pod) []string {
			return []string{commandf("get devicemesh %s -n %s -o jsonpath='{.status.conditions}'", p.Labels[v1alpha1.LabelPlacement], p.Namespace)}
		},
	},
	{
		reason: "ClaimTaken", is: func(c *Case, p *corev1.Pod) bool { return c.taken(p) != nil },
		cause: func(c *Case, p *corev1.Pod) string {
			taken := c.taken(p)
			return fmt.Sprintf("Claim %s is not allocated: another claim has its device, %s/%s", c.unallocated(p).Name, taken.by.Namespace, taken.by.Name)
		},
		evidence: func(c *Case, p *corev1.Pod) []string {
			taken := c.taken(p)
			return lines(fmt.Sprintf("%s is %s of pool %s, which is allocated to claim %s/%s", taken.id, taken.device, taken.pool, taken.by.Namespace, taken.by.Name), reservedText(taken.by), conditionText(p, corev1.PodScheduled))
		},
		commands: func(c *Case, p *corev1.Pod) []string {
			by := c.taken(p).by
			if len(by.Status.ReservedFor) > 0 {
				return []string{commandf("delete %s %s -n %s", by.Status.ReservedFor[0].Resource, by.Status.ReservedFor[0].Name, by.Namespace)}
			}
			return []string{commandf("delete resourceclaim %s -n %s", by.Name, by.Namespace)}
		},
	},
	{
		reason: "NotOffered", is: func(c *Case, p *corev1.Pod) bool { return c.unallocated(p) != nil && c.notOffered(p) != "" },
		cause: func(c *Case, p *corev1.Pod) string {
			return fmt.Sprintf("Claim %s is not allocated: no DRA driver offers %s on node %s", c.unallocated(p).Name, c.notOffered(p), boundTo(p))
		},
		evidence: func(c *Case, p *corev1.Pod) []string {
			return []string{fmt.Sprintf("no ResourceSlice of node %s has the device", boundTo(p)), conditionText(p, corev1.PodScheduled)}
		},
		commands: func(_ *Case, p *corev1.Pod) []string {
			return []string{
				commandf("get pods -A --field-selector spec.nodeName=%s", boundTo(p)) + " # and restart the pod of the DRA driver",
				commandf("get resourceslices --field-selector spec.nodeName=%s", boundTo(p)),
			}
		},
	},
	{
		reason: "ClaimNotAllocated", is: func(c *Case, p *corev1.Pod) bool { return c.unallocated(p) != nil },
		cause: func(c *Case, p *corev1.Pod) string { return "Claim " + c.unallocated(p).Name + " is not allocated" },
		evidence: func(_ *Case, p *corev1.Pod) []string {
			return lines(conditionText(p, corev1.PodScheduled), bindingText(p))
		},
		commands: func(c *Case, p *corev1.Pod) []string {
			return []string{commandf("describe resourceclaim %s -n %s", c.unallocated(p).Name, p.Namespace)}
		},
	},
}

// seesClaims says whether all claims and slices were read.
func (c *Case) seesClaims() bool { return c.State.Sees(Claims) && c.State.Sees(Slices) }

// Kinds of which something is said where they are not seen.
const (
	Claims = "resourceclaims"
	Slices = "resourceslices"
	Events = "events"
)

// claimsOf are the names of the claims of a pod.
func claimsOf(p *corev1.Pod) []string {
	var names []string
	for _, claim := range p.Spec.ResourceClaims {
		name := ptr.Deref(claim.ResourceClaimName, "")
		for _, made := range p.Status.ResourceClaimStatuses {
			if made.Name == claim.Name && made.ResourceClaimName != nil {
				name = *made.ResourceClaimName
			}
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (c *Case) claim(namespace, name string) *resourcev1.ResourceClaim {
	return found(c.Claims, func(claim *resourcev1.ResourceClaim) bool { return claim.Namespace == namespace && claim.Name == name })
}

// missingClaim is the first claim of a pod that does not exist.
func (c *Case) missingClaim(p *corev1.Pod) string {
	for _, name := range claimsOf(p) {
		if c.State.Sees(Claims) && c.claim(p.Namespace, name) == nil {
			return name
		}
	}
	return ""
}

// unallocated is the first claim of a pod that waits for devices; nil where none does, or the pod is scheduled.
func (c *Case) unallocated(p *corev1.Pod) *resourcev1.ResourceClaim {
	if !unscheduled(p) {
		return nil
	}
	for _, name := range claimsOf(p) {
		if claim := c.claim(p.Namespace, name); claim != nil && claim.Status.Allocation == nil {
			return claim
		}
	}
	return nil
}

// offer is a device of a plan as a driver offers it, and the claim that has it.
type offer struct {
	id           v1alpha1.DeviceID
	pool, device string
	by           *resourcev1.ResourceClaim
}

// taken is the first device of an unscheduled pod that another claim has; nil where none does.
func (c *Case) taken(p *corev1.Pod) *offer {
	own := c.unallocated(p)
	if own == nil {
		return nil
	}
	for _, id := range fleet.BoundTo(p) {
		at := c.offered(boundTo(p), id)
		if at == nil {
			continue
		}
		at.by = found(c.Claims, func(claim *resourcev1.ResourceClaim) bool {
			return claim.UID != own.UID && claim.Status.Allocation != nil && slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
				return r.Pool == at.pool && r.Device == at.device
			})
		})
		if at.by != nil {
			return at
		}
	}
	return nil
}

// notOffered is the first device of a pod that no driver offers on its node.
func (c *Case) notOffered(p *corev1.Pod) v1alpha1.DeviceID {
	for _, id := range fleet.BoundTo(p) {
		if c.seesClaims() && c.offered(boundTo(p), id) == nil {
			return id
		}
	}
	return ""
}

// offered finds a device of a node in the ResourceSlices, by the attribute that tells it from the others; nil where no slice has it.
func (c *Case) offered(node string, id v1alpha1.DeviceID) *offer {
	inventory := c.inventory(node)
	if inventory == nil {
		return nil
	}
	device := inventory.Status.Device(id)
	if device == nil || device.ClaimAttribute == nil {
		return nil
	}
	for i := range c.Slices {
		slice := &c.Slices[i].Spec
		if ptr.Deref(slice.NodeName, "") != node {
			continue
		}
		for k := range slice.Devices {
			if selects(slice.Driver, &slice.Devices[k], device.ClaimAttribute) {
				return &offer{id: id, pool: slice.Pool.Name, device: slice.Devices[k].Name}
			}
		}
	}
	return nil
}

// selects says whether a device of a slice has an attribute. A driver's own attributes may be written without its name.
func selects(driver string, d *resourcev1.Device, of *v1alpha1.ClaimAttribute) bool {
	for name, is := range d.Attributes {
		if string(name) != of.Name && driver+"/"+string(name) != of.Name {
			continue
		}
		if of.String != nil && is.StringValue != nil && *of.String == *is.StringValue || of.Int != nil && is.IntValue != nil && *of.Int == *is.IntValue {
			return true
		}
	}
	return false
}

func reservedText(claim *resourcev1.ResourceClaim) string {
	var names []string
	for _, by := range claim.Status.ReservedFor {
		names = append(names, by.Resource+" "+by.Name)
	}
	return listed("that claim is reserved for", names)
}
