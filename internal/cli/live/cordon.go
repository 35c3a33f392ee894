package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

// cordoning is what cordon and uncordon have in common.
type cordoning struct {
	word, done, already, short, long, example string
	// change is what becomes of the cordoned devices of a node where some are meant.
	change func(cordoned, meant []v1alpha1.DeviceID) []v1alpha1.DeviceID
	// is says whether a device is as the command makes it.
	is func(cordoned bool) bool
}

// NewCordon returns the command `kubectl rankwright cordon`.
func NewCordon(streams term.Streams) *cobra.Command {
	return newCordoning(streams, &cordoning{
		word: "cordon", done: "cordoned", already: "already cordoned", short: "Keep devices from new plans and new pods",
		long: `Cordon devices, or all devices of a node: no new plan and no new pod gets them. What runs on them goes on, and plans
that have them stay; replan moves a placement off them. It is written into spec.cordonedDevices of the node's
inventory. To keep all pods off a node, and to have placements leave it, use kubectl cordon and kubectl drain.`,
		example: `  kubectl rankwright cordon device/node-1/nvidia-0000:17:00.0
  kubectl rankwright cordon node/node-1
  kubectl rankwright top devices --state Idle -o name | xargs kubectl rankwright cordon`,
		change: func(cordoned, meant []v1alpha1.DeviceID) []v1alpha1.DeviceID {
			all := slices.Concat(cordoned, meant)
			slices.Sort(all)
			return slices.Compact(all)
		},
		is: func(cordoned bool) bool { return cordoned },
	})
}

// NewUncordon returns the command `kubectl rankwright uncordon`.
func NewUncordon(streams term.Streams) *cobra.Command {
	return newCordoning(streams, &cordoning{
		word: "uncordon", done: "uncordoned", already: "not cordoned", short: "Let new plans and new pods have devices again",
		long: `Lift the cordon of devices, or of all devices of a node. It lifts what cordon set, in spec.cordonedDevices of the
node's inventory. Devices that the operator cordoned for a fault stay cordoned until they are repaired and checked.`,
		example: `  kubectl rankwright uncordon device/node-1/nvidia-0000:17:00.0
  kubectl rankwright uncordon node/node-1`,
		change: func(cordoned, meant []v1alpha1.DeviceID) []v1alpha1.DeviceID {
			return slices.DeleteFunc(slices.Clone(cordoned), func(id v1alpha1.DeviceID) bool { return slices.Contains(meant, id) })
		},
		is: func(cordoned bool) bool { return !cordoned },
	})
}

func newCordoning(streams term.Streams, how *cordoning) *cobra.Command {
	var flags cluster.Flags
	var by cluster.Changing
	command := &cobra.Command{
		Use: how.word + " (device/NODE/ID | node/NAME)...", Short: how.short, Long: how.long, Example: how.example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return term.Usagef("no device: write %s device/NODE/ID or %s node/NAME", how.word, how.word)
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			return how.run(command.Context(), streams, &flags, args, &by)
		},
	}
	by.Add(command)
	flags.Add(command)
	flags.Complete(command, cluster.ADevice, cluster.ANode)
	return command
}

func (h *cordoning) run(ctx context.Context, streams term.Streams, flags *cluster.Flags, args []string, by *cluster.Changing) error {
	of, err := flags.Connect(streams)
	if err != nil {
		return err
	}
	objects, err := of.Read(ctx, streams, holding.Inventories)
	if err != nil {
		return err
	}
	if err := objects.Permitted(holding.Inventories); err != nil {
		return err
	}
	meant, err := devicesMeant(objects.Inventories, args)
	if err != nil {
		return err
	}
	for _, m := range meant {
		if err := h.write(ctx, streams, of, m, by); err != nil {
			return err
		}
	}
	return nil
}

// onNode is devices of one node.
type onNode struct {
	inventory *v1alpha1.AcceleratorInventory
	devices   []v1alpha1.DeviceID
}

// devicesMeant finds what arguments name, by node.
func devicesMeant(inventories []v1alpha1.AcceleratorInventory, args []string) ([]onNode, error) {
	var meant []onNode
	for _, arg := range args {
		target, err := cluster.ParseTarget(arg, cluster.ADevice, cluster.ANode)
		if err != nil {
			return nil, err
		}
		found, err := find(inventories, target)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(meant, func(m onNode) bool { return m.inventory == found.inventory })
		if at < 0 {
			meant = append(meant, found)
		} else {
			meant[at].devices = append(meant[at].devices, found.devices...)
		}
	}
	return meant, nil
}

// find finds a device, or all devices of a node. Without a node a device must be on one only.
func find(inventories []v1alpha1.AcceleratorInventory, target cluster.Target) (onNode, error) {
	var found []onNode
	var nodes []string
	for i := range inventories {
		inventory := &inventories[i]
		nodes = append(nodes, inventory.Name)
		switch {
		case target.Kind == cluster.ANode && inventory.Name == target.Name:
			return onNode{inventory, idsOf(inventory)}, nil
		case target.Kind == cluster.ADevice && (target.Node == "" || target.Node == inventory.Name) && inventory.Status.Device(v1alpha1.DeviceID(target.Name)) != nil:
			found = append(found, onNode{inventory, []v1alpha1.DeviceID{v1alpha1.DeviceID(target.Name)}})
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return onNode{}, term.Usagef("%s nodes have a device %s: write device/NODE/ID, such as device/%s/%[2]s", fmt.Sprint(len(found)), target.Name, found[0].inventory.Name)
	case target.Kind == cluster.ANode:
		return onNode{}, fmt.Errorf("there is no inventory of node %s%s", target.Name, cluster.Hint(target.Name, nodes, "no node has one"))
	case target.Node != "":
		return onNode{}, fmt.Errorf("node %s has no device %s: kubectl rankwright top devices lists them", target.Node, target.Name)
	default:
		return onNode{}, fmt.Errorf("no node has a device %s: kubectl rankwright top devices lists them", target.Name)
	}
}

func idsOf(inventory *v1alpha1.AcceleratorInventory) []v1alpha1.DeviceID {
	var ids []v1alpha1.DeviceID
	for i := range inventory.Status.Devices {
		ids = append(ids, inventory.Status.Devices[i].ID)
	}
	return ids
}

// attempts is how often a change is tried where others write the same inventory.
const attempts = 5

// write changes the cordons of a node, on condition that nobody else did meanwhile, and tells what came of each device.
func (h *cordoning) write(ctx context.Context, streams term.Streams, of *cluster.Cluster, m onNode, by *cluster.Changing) error {
	inventory, err := m.inventory, error(nil)
	for range attempts {
		before := inventory.Spec.CordonedDevices
		after := h.change(before, m.devices)
		if slices.Equal(before, after) {
			return h.tell(streams, of, m, before, before, inventory, by)
		}
		changed, refused := cluster.Merge(ctx, of, holding.Inventories, inventory, map[string]any{
			"metadata": map[string]any{"resourceVersion": inventory.ResourceVersion}, "spec": map[string]any{"cordonedDevices": after},
		}, by)
		if err = refused; err == nil {
			return h.tell(streams, of, m, before, after, changed, by)
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		if inventory, err = of.Inventory(ctx, inventory.Name); err != nil {
			return err
		}
	}
	return err
}

// tell says what became of each device. One that the operator keeps cordoned for a fault is told as that.
func (h *cordoning) tell(streams term.Streams, of *cluster.Cluster, m onNode, before, after []v1alpha1.DeviceID, now *v1alpha1.AcceleratorInventory, by *cluster.Changing) error {
	var kept []string
	var told strings.Builder
	for _, id := range m.devices {
		said := h.done + by.Text()
		if h.is(slices.Contains(before, id)) == h.is(slices.Contains(after, id)) {
			said = h.already
		}
		if !h.is(true) && slices.Contains(now.Status.Withdrawn(), id) {
			repair := now.Status.Repair(id)
			said += fmt.Sprintf(", but the operator keeps it cordoned: %s, %s", repair.Fault, repair.State)
			kept = append(kept, string(id))
		}
		_, _ = fmt.Fprintf(&told, "device/%s/%s %s\n", now.Name, id, said)
	}
	if err := of.Tell(streams, by, now, told.String()); err != nil {
		return err
	}
	if len(kept) > 0 {
		return fmt.Errorf("%s of node %s cordoned for a fault: docs/operate/repair.md says when they come back", words.Counted(len(kept), "device"), now.Name)
	}
	return nil
}
