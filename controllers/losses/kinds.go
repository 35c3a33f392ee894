package losses

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// kind is a row of the table.
type kind struct {
	reason v1alpha1.LossReason
	// node or device says whether there is evidence, and what is known beyond the reason.
	node   func(*Scene, *fleet.Host) (string, bool)
	device func(*Scene, *fleet.Host, v1alpha1.DeviceID) (string, bool)
	// grace is how long it is borne, in seconds; nil means not at all.
	grace func(*v1alpha1.FailurePolicy) *int32
	// silence says that the evidence may be the network's and not the node's, so that it is doubted where many nodes show it at once.
	silence bool
	// serves says that what is lost still runs, until a new plan moves it.
	serves bool
}

// kinds are in the order in which they are looked for: the first that holds is the reason.
var kinds = []kind{
	{reason: v1alpha1.LossNodeGone, node: func(_ *Scene, h *fleet.Host) (string, bool) { return "", !h.Exists }},
	{
		reason: v1alpha1.LossNodeOutOfService,
		node: func(_ *Scene, h *fleet.Host) (string, bool) {
			return "taint node.kubernetes.io/out-of-service", h.OutOfService
		},
	},
	{
		reason: v1alpha1.LossNodeDrained, node: (*Scene).drained,
		grace: func(f *v1alpha1.FailurePolicy) *int32 {
			if f.Drain != nil {
				return nil // the cordon alone is answered at once
			}
			return f.NodeDrainedSeconds
		},
	},
	{
		reason: v1alpha1.LossNodeNotReady, silence: true,
		node:  func(_ *Scene, h *fleet.Host) (string, bool) { return "", h.NotReady },
		grace: func(f *v1alpha1.FailurePolicy) *int32 { return f.NodeNotReadySeconds },
	},
	{
		reason: v1alpha1.LossNodeTainted,
		node: func(s *Scene, h *fleet.Host) (string, bool) {
			taint := fleet.Tainted(h, s.Pods)
			if taint == nil {
				return "", false
			}
			return "the pods do not tolerate taint " + taint.ToString(), true
		},
		grace: func(f *v1alpha1.FailurePolicy) *int32 { return f.NodeTaintedSeconds },
	},
	{
		reason: v1alpha1.LossNodeDraining, serves: true,
		node: func(s *Scene, h *fleet.Host) (string, bool) {
			return "the node is cordoned", s.LeavesCordoned && h.Cordoned
		},
	},
	{
		reason: v1alpha1.LossDeviceGone,
		device: func(_ *Scene, h *fleet.Host, id v1alpha1.DeviceID) (string, bool) {
			return "", h.Inventory.Status.Device(id) == nil && couldLook(&h.Inventory.Status)
		},
		grace: func(f *v1alpha1.FailurePolicy) *int32 { return f.DeviceUnhealthySeconds },
	},
	{
		reason: v1alpha1.LossDeviceUnhealthy,
		device: func(_ *Scene, h *fleet.Host, id v1alpha1.DeviceID) (string, bool) {
			d := h.Inventory.Status.Device(id)
			if d == nil || d.Health.State != v1alpha1.Unhealthy {
				return "", false
			}
			return d.Health.Reason, true
		},
		grace: func(f *v1alpha1.FailurePolicy) *int32 { return f.DeviceUnhealthySeconds },
	},
	{reason: v1alpha1.LossDeviceOccupied, device: (*Scene).occupied, grace: func(f *v1alpha1.FailurePolicy) *int32 { return f.DeviceOccupiedSeconds }},
}

// kindOf returns the row of a reason; the zero row where the table has none.
func kindOf(reason v1alpha1.LossReason) *kind {
	for i := range kinds {
		if kinds[i].reason == reason {
			return &kinds[i]
		}
	}
	return &kind{}
}

// graceOf is how long a loss is borne.
func graceOf(reason v1alpha1.LossReason, policy *v1alpha1.FailurePolicy) time.Duration {
	k := kindOf(reason)
	if k.grace == nil {
		return 0
	}
	return time.Duration(ptr.Deref(k.grace(policy), 0)) * time.Second
}

// Text says what is lost, in one line.
func Text(l *v1alpha1.Loss) string {
	text := "node " + l.Node
	if l.Device != "" {
		text = fmt.Sprintf("device %s on node %s", l.Device, l.Node)
	}
	text += fmt.Sprintf(" (%s", l.Reason)
	if l.Message != "" {
		text += ": " + l.Message
	}
	return text + ")"
}

// Leaving returns those of the losses that still serve, and are to be moved.
func Leaving(losses []v1alpha1.Loss) []v1alpha1.Loss {
	return slices.DeleteFunc(slices.Clone(losses), func(l v1alpha1.Loss) bool { return !kindOf(l.Reason).serves })
}

// Ranks returns the ranks of a plan's rows that cannot run for these losses. The mesh says which numbers they have.
func Ranks(losses []v1alpha1.Loss, rows []v1alpha1.PlanRow) []v1alpha1.LostRank {
	var lost []v1alpha1.LostRank
	for _, row := range rows {
		for _, id := range row.Devices {
			for i := range losses {
				if l := &losses[i]; !kindOf(l.Reason).serves && l.Node == row.Node && (l.Device == "" || l.Device == id) {
					reason := string(l.Reason)
					if l.Message != "" {
						reason += ": " + l.Message
					}
					lost = append(lost, v1alpha1.LostRank{Replica: row.Replica, Node: row.Node, Device: id, Reason: reason})
					break
				}
			}
		}
	}
	return lost
}
