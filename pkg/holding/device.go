package holding

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// Condition is whether a device is held, and if not, whether it could be.
type Condition string

// The conditions, each device in one of them.
const (
	// InUse: a kubelet reports a pod on the device.
	InUse Condition = "InUse"
	// Reserved: a plan has the device, or a pod was bound to it, and no kubelet reports a pod there.
	Reserved Condition = "Reserved"
	// Idle: nobody holds the device, and a plan may have it.
	Idle Condition = "Idle"
	// OutOfUse: nobody holds the device, and no plan may have it.
	OutOfUse Condition = "OutOfUse"
	// Unknown: nobody is known to hold the device, and not everybody is known who may.
	Unknown Condition = "Unknown"
)

// Conditions are all conditions, in the order in which they are counted for people.
var Conditions = []Condition{InUse, Reserved, Idle, OutOfUse, Unknown}

// Device is a device with who holds it.
type Device struct {
	Node    string                `json:"node"`
	ID      v1alpha1.DeviceID     `json:"id"`
	Vendor  string                `json:"vendor,omitempty"`
	Product string                `json:"product,omitempty"`
	Memory  Memory                `json:"memory"`
	Health  v1alpha1.DeviceHealth `json:"health"`
	Parent  v1alpha1.DeviceID     `json:"parent,omitempty"`
	// Utilization is how busy the device was when the node's agent looked last; nil where that is not known.
	Utilization *Utilization `json:"utilization,omitempty"`
	// Condition is whether the device is held, Why the reason where nobody holds it and it is not idle.
	Condition Condition `json:"condition"`
	Why       string    `json:"why,omitempty"`
	// Cordoned says that nothing new is put on the device, by the administrator's word or the operator's.
	Cordoned bool `json:"cordoned,omitempty"`
	// Pods hold the device, Seats are what plans have it for, those in force first.
	Pods  []Pod  `json:"pods,omitempty"`
	Seats []Seat `json:"seats,omitempty"`
}

// In says whether a pod or a placement of a namespace holds the device.
func (d *Device) In(namespace string) bool {
	return slices.ContainsFunc(d.Pods, func(p Pod) bool { return p.Namespace == namespace }) ||
		slices.ContainsFunc(d.Seats, func(s Seat) bool { return s.Namespace == namespace })
}

// Memory is the memory of a device in MiB.
type Memory struct {
	TotalMiB int64 `json:"totalMiB"`
	// OthersMiB is what processes use that belong to no pod that is known.
	OthersMiB int64 `json:"othersMiB"`
	// PlannedMiB is what the plans that have the device take of it.
	PlannedMiB int64 `json:"plannedMiB"`
	// FreeMiB is what a new plan may have: nothing of a device that is not idle.
	FreeMiB int64 `json:"freeMiB"`
}

// Utilization is how busy a device was at a moment.
type Utilization struct {
	// Percent is the part of the time that the device computed, from 0 to 100.
	Percent int64 `json:"percent"`
	// ReadAt is when that was read, by the clock of the node.
	ReadAt metav1.Time `json:"readAt"`
}

// Pod is a pod that holds a device.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Container string `json:"container,omitempty"`
	// Bound says that the operator bound the pod to the device, and the kubelet does not report it there.
	Bound bool `json:"bound,omitempty"`
}

// Node is a node with an inventory.
type Node struct {
	Name string `json:"name"`
	// Closed says why the node takes no new work; empty where it does.
	Closed string            `json:"closed,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

func (j *join) node(from *v1alpha1.AcceleratorInventory) (Node, []Device) {
	host := j.snapshot.Host(from.Name)
	made := Node{Name: from.Name, Closed: closed(host), Labels: host.Labels}
	refused := j.refusals(from.Name)
	reported := reportedOn(&from.Status)
	busy := j.utilization(host)
	var devices []Device
	for i := range from.Status.Devices {
		d := &from.Status.Devices[i]
		if d.Family == v1alpha1.FamilyCPU {
			continue
		}
		device := j.device(from, d, reported[d.ID])
		if percent, read := busy.Percent[d.ID]; read {
			device.Utilization = &Utilization{percent, busy.ReadAt}
		}
		device.Condition, device.Why = j.condition(&device, from, made.Closed, refused[d.ID])
		if device.Condition == Idle {
			device.Memory.FreeMiB = d.FreeMiB()
		}
		devices = append(devices, device)
	}
	return made, devices
}

// utilization is how busy the devices of a host are. What a silent agent said last, and what another version of it says that is not understood, is
// no evidence of that.
func (j *join) utilization(h *fleet.Host) inventory.Utilization {
	if h.Silent {
		return inventory.Utilization{}
	}
	u, err := inventory.ParseUtilization(j.state.Utilization[h.Name])
	if err != nil {
		return inventory.Utilization{}
	}
	return u
}

// unlisted are the devices of plans that no inventory lists.
func (j *join) unlisted(listed []Device) []Device {
	known := make(map[place]bool, len(listed))
	for i := range listed {
		known[place{listed[i].Node, listed[i].ID}] = true
	}
	why := "its node's inventory does not list it"
	if !j.state.Sees(Inventories) {
		why = "inventories are not seen"
	}
	var devices []Device
	for at, seats := range j.seats {
		if !known[at] {
			devices = append(devices, Device{Node: at.node, ID: at.id, Vendor: at.id.Vendor(), Condition: Reserved, Why: why, Seats: seats, Memory: planned(seats), Pods: j.bound[at]})
		}
	}
	return devices
}

// planned is the memory that the plans of seats take of a device.
func planned(seats []Seat) Memory {
	var m Memory
	for i := range seats {
		m.PlannedMiB = max(m.PlannedMiB, seats[i].PlannedMiB)
	}
	return m
}

// refusals are why no plan may use the devices of a node; nil for a node on which nothing can be planned.
func (j *join) refusals(node string) map[v1alpha1.DeviceID]fleet.Refusal {
	entry := j.index.NodeNamed(node)
	if entry == nil {
		return nil
	}
	refused := map[v1alpha1.DeviceID]fleet.Refusal{}
	for i := range entry.Devices {
		refused[entry.Devices[i].ID] = entry.Devices[i].Refusal()
	}
	return refused
}

func (j *join) device(from *v1alpha1.AcceleratorInventory, d *v1alpha1.Device, pods []Pod) Device {
	at := place{from.Name, d.ID}
	made := Device{
		Node: from.Name, ID: d.ID, Vendor: d.Vendor, Product: d.Product, Health: d.Health, Seats: j.seats[at],
		Cordoned: from.Status.Cordoned(&from.Spec, d.ID), Pods: slices.Clone(pods),
	}
	for _, pod := range j.bound[at] {
		if !slices.ContainsFunc(pods, func(p Pod) bool { return p.Namespace == pod.Namespace && p.Name == pod.Name }) {
			made.Pods = append(made.Pods, pod)
		}
	}
	if d.Partition != nil {
		made.Parent = d.Partition.Parent
	}
	made.Memory = planned(made.Seats)
	if d.Memory != nil {
		made.Memory.TotalMiB, made.Memory.OthersMiB = d.Memory.TotalMiB, d.Memory.UsedByOthersMiB
	}
	return made
}

// reportedOn are the pods that the kubelet reports, by device.
func reportedOn(status *v1alpha1.AcceleratorInventoryStatus) map[v1alpha1.DeviceID][]Pod {
	byDevice := map[v1alpha1.DeviceID][]Pod{}
	for _, a := range status.Allocations {
		byDevice[a.Device] = append(byDevice[a.Device], Pod{Namespace: a.Namespace, Name: a.Pod, Container: a.Container})
	}
	return byDevice
}

// condition is the condition of a device for which a refusal of package fleet is known; refused is absent where the node cannot be planned on.
func (j *join) condition(d *Device, from *v1alpha1.AcceleratorInventory, closed string, refusal fleet.Refusal) (Condition, string) {
	switch {
	case slices.ContainsFunc(d.Pods, func(p Pod) bool { return !p.Bound }):
		return InUse, ""
	case len(d.Pods) > 0 || len(d.Seats) > 0:
		return Reserved, ""
	case closed != "":
		return OutOfUse, closed
	case refusal == fleet.RefusedTaken, refusal == fleet.RefusedAllocated:
		return Reserved, "a device that shares its silicon is held, or a pod whose device is not reported yet"
	case refusal != "":
		return OutOfUse, whyRefused(d, refusal)
	case j.blind != "":
		return Unknown, j.blind
	case stale(from):
		return Unknown, "the kubelet does not say which pods hold devices"
	default:
		return Idle, ""
	}
}

// whyRefused says why a device that nobody holds is not for plans.
func whyRefused(d *Device, refusal fleet.Refusal) string {
	switch {
	case refusal == fleet.RefusedHealth && d.Health.Reason != "":
		return string(d.Health.State) + ": " + d.Health.Reason
	case refusal == fleet.RefusedHealth:
		return string(d.Health.State)
	default:
		return string(refusal)
	}
}

// stale says whether the allocations of an inventory may be out of date.
func stale(from *v1alpha1.AcceleratorInventory) bool {
	current := meta.FindStatusCondition(from.Status.Conditions, v1alpha1.ConditionAllocationsCurrent)
	return current != nil && current.Status != metav1.ConditionTrue
}

// closed says why a node takes no new work; empty where it does.
func closed(h *fleet.Host) string {
	switch {
	case !h.Exists:
		return "there is no such Node"
	case h.Cordoned:
		return "node cordoned"
	case h.NotReady:
		return "node not ready"
	case h.OutOfService:
		return "node out of service"
	case h.Silent:
		return "the node's agent is silent"
	case h.Closed:
		return "node is being deleted"
	default:
		return ""
	}
}
