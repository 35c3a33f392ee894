package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// printInventory writes a host, its devices and what connects them; without headers the rows of the devices alone.
func printInventory(p *term.Page, shown *v1alpha1.AcceleratorInventory, devices []liveDevice, wide, headers bool) {
	status := &shown.Status
	header, rows := deviceTable(devices, wide)
	if !headers {
		p.Table(nil, rows)
		return
	}
	p.Sheet(hostRows(shown.Name, status, wide))
	p.Line()
	if len(rows) == 0 {
		p.Line(nothingFound(status.Backends))
	} else if !wide {
		narrow(header, rows)
	}
	p.Table(header, rows)
	printShared(p, status.Devices)
	for _, warning := range inventory.Warnings(&v1alpha1.AcceleratorInventoryStatus{Devices: status.Devices}) {
		p.Linef("\n%s\n  %s", term.Printable(warningText(warning)), term.IDs(warning.Devices))
	}
	printLinks(p, status)
	if wide {
		printTopology(p, status)
	}
}

// printShared says of which devices the memory is the host's too, once for all that share as much of it.
func printShared(p *term.Page, devices []v1alpha1.Device) {
	sharing := map[string][]v1alpha1.DeviceID{}
	for i := range devices {
		if m := devices[i].Memory; m != nil && m.Shared != nil {
			what := sharedText(m.Shared)
			sharing[what] = append(sharing[what], devices[i].ID)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(sharing)) {
		p.Linef("\nMemory shared with the host: %s\n  %s", what, term.IDs(sharing[what]))
	}
}

func sharedText(s *v1alpha1.SharedMemory) string {
	var parts []string
	if s.CarveOutMiB > 0 {
		parts = append(parts, words.HumanMiB(s.CarveOutMiB)+" set aside by the firmware")
	}
	if s.HostMiB > 0 {
		parts = append(parts, words.HumanMiB(s.HostMiB)+" of the host's")
	}
	return cmp.Or(strings.Join(parts, ", "), "how much is not known")
}

// warningText says what is the matter: state and reason, and the message where there is one.
func warningText(warning inventory.Warning) string {
	why := strings.TrimSpace(warning.State + " " + warning.Reason)
	if warning.Message != "" {
		why += ": " + warning.Message
	}
	return why
}

// nothingFound tells a host without accelerators from one whose devices are not selected.
func nothingFound(backends []v1alpha1.BackendStatus) string {
	var found int32
	for _, b := range backends {
		found += b.Devices
	}
	if found == 0 {
		return "No accelerators found."
	}
	return fmt.Sprintf("No device is selected: the host has %s.", words.Counted(found, "device"))
}

func printLinks(p *term.Page, status *v1alpha1.AcceleratorInventoryStatus) {
	wholes := map[v1alpha1.DeviceID]v1alpha1.DeviceID{}
	for i := range status.Devices {
		wholes[status.Devices[i].ID] = status.Devices[i].Whole()
	}
	rows := term.Rows(status.Links.Domains, func(d *v1alpha1.LinkDomain) []any {
		return []any{d.Kind, domainText(d), gbps(d.DeviceMBps), membersText(d.Members, wholes)}
	})
	rows = append(rows, term.Rows(status.Links.Pairs, func(l *v1alpha1.LinkPair) []any {
		return []any{l.Kind, "pair, " + words.Counted(l.Count, "link"), gbps(l.MBps), membersText([]v1alpha1.DeviceID{l.A, l.B}, wholes)}
	})...)
	if len(rows) > 0 {
		p.Line()
	}
	p.Table([]string{"LINK", "TOPOLOGY", "PER DEVICE", "MEMBERS"}, rows)
}

// maxMembers keeps the members of a link in a line.
const maxMembers = 80

// membersText names devices in a line: partitions by their devices where they are too many.
func membersText(members []v1alpha1.DeviceID, wholes map[v1alpha1.DeviceID]v1alpha1.DeviceID) string {
	if text := term.IDs(members); len(text) <= maxMembers {
		return text
	}
	var devices []v1alpha1.DeviceID
	for _, id := range members {
		if whole := wholes[id]; !slices.Contains(devices, whole) {
			devices = append(devices, whole)
		}
	}
	text := words.Shorten(term.IDs(devices), maxMembers)
	if len(devices) == len(members) {
		return text
	}
	return fmt.Sprintf("%d partitions of %s", len(members), text)
}

// domainText is a domain's topology, with its shape where it has one.
func domainText(d *v1alpha1.LinkDomain) string {
	text := strings.ToLower(string(d.Topology))
	for i, size := range d.Shape {
		text += fmt.Sprintf("%s%d", []string{" ", "x"}[min(i, 1)], size)
	}
	return text
}
