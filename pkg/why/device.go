package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

// OfDevice says why a device is held, or why nobody may have it.
func OfDevice(c *Case, d *holding.Device) Answer { return first(c, deviceName(d), d, deviceCauses()) }

// deviceName is a device as an argument of commands.
func deviceName(d *holding.Device) string { return "device/" + d.Node + "/" + string(d.ID) }

func deviceCauses() []cause[*holding.Device] {
	return []cause[*holding.Device]{
		{
			reason: "Repairing", is: func(c *Case, d *holding.Device) bool { return c.repair(d) != nil },
			cause: func(c *Case, d *holding.Device) string {
				repair := c.repair(d)
				return fmt.Sprintf("The operator keeps it out of use for a fault: %s, %s", repair.Fault, repair.State)
			},
			evidence: func(c *Case, d *holding.Device) []string { return lines(sentence(c.repair(d).Message), healthText(d)) },
			commands: func(_ *Case, d *holding.Device) []string {
				return []string{commandf("get accinv %s -o jsonpath='{.status.repairs}'", d.Node)}
			},
		},
		{
			reason: "Unhealthy", is: func(_ *Case, d *holding.Device) bool { return unusable(d) },
			cause:    func(_ *Case, d *holding.Device) string { return "It takes no work, for its health: " + healthWord(d) },
			evidence: func(_ *Case, d *holding.Device) []string { return lines(healthText(d)) },
			commands: func(_ *Case, d *holding.Device) []string {
				return []string{commandf("drain %s --ignore-daemonsets", d.Node) + " # then reset the device or restart the node: docs/operate/health.md says what clears it"}
			},
		},
		{
			reason: "Cordoned", is: func(_ *Case, d *holding.Device) bool { return d.Cordoned },
			cause: says[*holding.Device]("Somebody cordoned it: no new plan and no new pod gets it"),
			evidence: func(_ *Case, d *holding.Device) []string {
				return []string{"spec.cordonedDevices of inventory " + d.Node + " has it"}
			},
			commands: func(_ *Case, d *holding.Device) []string {
				return []string{"kubectl rankwright uncordon " + deviceName(d)}
			},
		},
		{
			is: func(c *Case, d *holding.Device) bool {
				return d.Condition == holding.OutOfUse && c.closed(d.Node) != ""
			},
			via: func(c *Case, d *holding.Device) Answer { return OfNode(c, d.Node) },
		},
		{
			reason: "TakenByStranger", is: func(c *Case, d *holding.Device) bool { return len(c.strangers(d)) > 0 },
			cause: func(_ *Case, d *holding.Device) string {
				if len(d.Seats) > 0 {
					return "A pod of no placement took it from plan " + d.Seats[0].Plan + " of " + d.Seats[0].Key()
				}
				return "A pod of no placement holds it"
			},
			evidence: func(c *Case, d *holding.Device) []string { return c.strangersText(d) },
			commands: func(c *Case, d *holding.Device) []string { return c.endStrangers(d) },
		},
		{
			reason: "InUse", is: func(_ *Case, d *holding.Device) bool { return d.Condition == holding.InUse },
			cause: func(_ *Case, d *holding.Device) string { return "A pod of a placement runs on it: " + podsText(d) },
			evidence: func(_ *Case, d *holding.Device) []string {
				return seatsText(d)
			},
			commands: seatCommands,
		},
		{
			reason: "Reserved", is: func(_ *Case, d *holding.Device) bool { return d.Condition == holding.Reserved && len(d.Seats) > 0 },
			cause: func(_ *Case, d *holding.Device) string {
				return "A plan keeps it for a pod that does not run there: " + d.Seats[0].Key()
			},
			evidence: func(_ *Case, d *holding.Device) []string { return append(seatsText(d), lines(d.Why)...) },
			commands: seatCommands,
		},
		{
			reason: "Idle", is: func(_ *Case, d *holding.Device) bool { return d.Condition == holding.Idle },
			cause: says[*holding.Device]("Nobody holds it, and a plan may have it"),
			evidence: func(_ *Case, d *holding.Device) []string {
				return lines(words.HumanMiB(d.Memory.FreeMiB)+" of "+words.HumanMiB(d.Memory.TotalMiB)+" are free", healthText(d))
			},
			commands: func(*Case, *holding.Device) []string { return []string{"kubectl rankwright plan -f placement.yaml"} },
		},
		{
			reason: "NotKnown", is: func(*Case, *holding.Device) bool { return true },
			cause: func(_ *Case, d *holding.Device) string { return "No plan gets it: " + d.Why },
			evidence: func(_ *Case, d *holding.Device) []string {
				return append(seatsText(d), "its state is "+string(d.Condition))
			},
			commands: func(_ *Case, d *holding.Device) []string { return []string{"kubectl rankwright why node/" + d.Node} },
		},
	}
}

// repair is what the operator does about a fault of a device that it keeps out of use.
func (c *Case) repair(d *holding.Device) *v1alpha1.Repair {
	inventory := c.inventory(d.Node)
	if inventory == nil || !slices.Contains(inventory.Status.Withdrawn(), d.ID) {
		return nil
	}
	return inventory.Status.Repair(d.ID)
}

// unusable says whether a device takes no work for its health.
func unusable(d *holding.Device) bool {
	return d.Health.State != "" && !(&v1alpha1.Device{Health: d.Health}).Usable()
}

func healthWord(d *holding.Device) string {
	return strings.TrimSuffix(string(d.Health.State)+": "+d.Health.Reason, ": ")
}

// healthText is a device with what was observed of its health.
func healthText(d *holding.Device) string {
	if d.Health.State == "" {
		return ""
	}
	text := string(d.ID) + " is " + healthWord(d)
	if d.Health.Message != "" {
		text += ", " + sentence(d.Health.Message)
	}
	return text
}

// strangers are the pods on a device that belong to no placement.
func (c *Case) strangers(d *holding.Device) []holding.Pod {
	return slices.DeleteFunc(slices.Clone(d.Pods), func(p holding.Pod) bool {
		return p.Bound || c.planned(p.Namespace, p.Name) || !c.State.Sees(holding.Pods)
	})
}

func (c *Case) strangersText(d *holding.Device) []string {
	var texts []string
	for _, p := range c.strangers(d) {
		text := fmt.Sprintf("pod %s/%s holds %s of %s", p.Namespace, p.Name, d.ID, d.Node)
		if p.Container != "" {
			text += ", container " + p.Container
		}
		texts = append(texts, text)
	}
	return texts
}

func (c *Case) endStrangers(d *holding.Device) []string {
	var commands []string
	for _, p := range c.strangers(d) {
		commands = append(commands, commandf("delete pod %s -n %s", p.Name, p.Namespace))
	}
	return commands
}

func podsText(d *holding.Device) string {
	var names []string
	for _, p := range d.Pods {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	return strings.Join(names, ", ")
}

func seatsText(d *holding.Device) []string {
	var texts []string
	for i := range d.Seats {
		s := &d.Seats[i]
		text := fmt.Sprintf("plan %s/%s has it for copy %d, stage %d, tensor rank %d", s.Namespace, s.Plan, s.Copy, s.Stage, s.Tensor)
		texts = append(texts, text+", "+words.HumanMiB(s.PlannedMiB))
	}
	return texts
}

func seatCommands(_ *Case, d *holding.Device) []string {
	if len(d.Seats) == 0 {
		return nil
	}
	s := &d.Seats[0]
	return []string{
		fmt.Sprintf("kubectl rankwright why mp/%s -n %s", s.Placement, s.Namespace),
		fmt.Sprintf("kubectl rankwright cordon %s && kubectl rankwright replan mp/%s -n %s", deviceName(d), s.Placement, s.Namespace),
	}
}
