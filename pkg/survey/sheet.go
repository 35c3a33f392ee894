package survey

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// Verdict is what is known of a check.
type Verdict string

// The verdicts, as they stand in the box of the sheet: what only somebody at the machine can tell is left to him.
const (
	Passed Verdict = "x"
	Failed Verdict = "!"
	Asked  Verdict = " "
)

// Check is a line of the sheet.
type Check struct {
	Verdict Verdict
	// Expected is what has to be true, Found what was seen.
	Expected, Found string
}

// Sheet is the list of expected answers. What can be told from the survey is ticked, or marked as wrong.
func (s *Survey) Sheet() []Check {
	first := &s.Views[0]
	checks := []Check{
		ask("These are the accelerators of the machine, none is missing and none too many", cmp.Or(first.Status.Summary.Products, "no accelerator")),
		ask("Each has the memory that the vendor's tool reports (nvidia-smi, amd-smi, …)", memories(first)),
		ask("They are connected like this", links(first)),
		ask("These are the ports of the machine", ports(first)),
		s.fullWidth(),
	}
	for i := range s.Views[1:] {
		checks = append(checks, s.sameDevices(&s.Views[i+1]))
	}
	if pod := s.view(InPod); pod != nil {
		checks = append(checks, s.memoryAsInstalled(pod), healthAsInstalled(pod))
	} else {
		checks = append(checks, ask("A pod of the node agent sees the same", "not looked at: run the Job of examples/verify"))
	}
	for i := range s.Pods {
		checks = append(checks, s.checkPod(&s.Pods[i]))
	}
	return checks
}

func ask(expected, found string) Check { return Check{Asked, expected, found} }

func told(passed bool, expected, found string) Check {
	if passed {
		return Check{Passed, expected, found}
	}
	return Check{Failed, expected, found}
}

// memories are the sizes, in MiB, with the number of devices and where the number comes from.
func memories(v *View) string {
	return counted(v.Status.Devices, func(d *v1alpha1.Device) string {
		if d.Memory == nil {
			return "not known"
		}
		return fmt.Sprintf("%d MiB (%s)", d.Memory.TotalMiB, d.Memory.Source)
	})
}

// counted are the words for each of the things, with the number of those that have the same.
func counted[T any](things []T, word func(*T) string) string {
	counts := map[string]int{}
	for i := range things {
		counts[word(&things[i])]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%dx %s", counts[name], name))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func links(v *View) string {
	var parts []string
	for _, d := range v.Status.Links.Domains {
		parts = append(parts, fmt.Sprintf("%s %s of %d", d.Kind, strings.ToLower(string(d.Topology)), len(d.Members)))
	}
	if pairs := len(v.Status.Links.Pairs); pairs > 0 {
		parts = append(parts, words.Counted(pairs, "direct pair"))
	}
	return cmp.Or(strings.Join(parts, ", "), "by PCI Express alone")
}

func ports(v *View) string {
	return counted(v.Status.NICs, func(nic *v1alpha1.NIC) string { return fmt.Sprintf("%s %d Gb/s", nic.Kind, nic.Gbps) })
}

// fullWidth looks at widths alone: drivers lower the speed of an idle link.
func (s *Survey) fullWidth() Check {
	const expected = "The link of every accelerator is as wide as it can be"
	devices := map[string]bool{}
	for i := range s.Views[0].Status.Devices {
		if pci := s.Views[0].Status.Devices[i].PCI; pci != nil {
			devices[pci.Address] = true
		}
	}
	var narrow []string
	for _, f := range s.platform.functions {
		if devices[f.Address] && width(f.link) != width(f.most) {
			narrow = append(narrow, fmt.Sprintf("%s %s of %s", f.Address, width(f.link), width(f.most)))
		}
	}
	return told(len(narrow) == 0, expected, cmp.Or(strings.Join(narrow, ", "), "no link is narrower"))
}

func width(link string) string { return link[strings.LastIndex(link, " ")+1:] }

func (s *Survey) sameDevices(v *View) Check {
	expected := fmt.Sprintf("View %s lists the devices of view %s", v.Name, s.Views[0].Name)
	said := map[inventory.ChangeKind]string{inventory.Removed: "without ", inventory.Added: "also "}
	var found []string
	for _, d := range v.differences {
		for _, id := range d.names {
			if said[d.kind] != "" && d.what == "Device" {
				found = append(found, said[d.kind]+id)
			}
		}
	}
	slices.Sort(found)
	return told(len(found) == 0, expected, cmp.Or(strings.Join(found, ", "), words.Counted(v.Status.Summary.Devices, "device")))
}

func (s *Survey) memoryAsInstalled(pod *View) Check {
	expected := "A pod of the node agent sees the memory that view " + s.Views[0].Name + " does"
	return told(memories(pod) == memories(&s.Views[0]), expected, memories(pod))
}

func healthAsInstalled(pod *View) Check {
	ill := slices.ContainsFunc(pod.Status.Devices, func(d v1alpha1.Device) bool { return d.Health.State != v1alpha1.Healthy })
	return told(!ill, "A pod of the node agent finds every device healthy", counted(pod.Status.Devices, healthText))
}

func healthText(d *v1alpha1.Device) string {
	return strings.TrimSpace(string(d.Health.State) + " " + d.Health.Reason)
}

// memoryTolerance is by how many percent tools of one vendor differ: some count what firmware has for itself.
const memoryTolerance = 2

// checkPod compares what a pod counted with what it asked for. A way that the cluster does not have is no failure.
func (s *Survey) checkPod(p *Pod) Check {
	wanted := p.Expected
	if wanted == 0 {
		wanted = s.ofVendor(p.vendor())
	}
	expected := fmt.Sprintf("Pod %s (%s) sees %s", p.Name, p.Asked, words.Counted(wanted, "device"))
	devices, memoryMiB, ok := p.count()
	switch {
	case p.Phase == pending:
		return ask(expected, "did not start: "+cmp.Or(p.Reason, "no reason was given"))
	case p.Phase != succeeded || !ok:
		return told(false, expected, strings.TrimSpace(p.Phase+" "+cmp.Or(p.Reason, words.Shorten(lastLine(p.Output), maxLine))))
	}
	found := fmt.Sprintf("%d with %d MiB", devices, memoryMiB)
	return told(devices == wanted && s.hasMemory(memoryMiB, devices), expected, found)
}

// ofVendor is the number of a vendor's devices.
func (s *Survey) ofVendor(vendor string) int {
	count := 0
	for i := range s.Views[0].Status.Devices {
		if s.Views[0].Status.Devices[i].Vendor == vendor {
			count++
		}
	}
	return count
}

// hasMemory says whether so many devices of the host, all alike, have that much memory together.
func (s *Survey) hasMemory(memoryMiB int64, devices int) bool {
	for i := range s.Views[0].Status.Devices {
		if m := s.Views[0].Status.Devices[i].Memory; m != nil {
			whole := m.TotalMiB * int64(devices)
			if difference := whole - memoryMiB; max(difference, -difference)*100 <= whole*memoryTolerance {
				return true
			}
		}
	}
	return false
}

// maxLine bounds what the sheet quotes of a pod, in bytes.
const maxLine = 120

func lastLine(output string) string {
	output = strings.TrimSpace(output)
	return output[strings.LastIndex(output, "\n")+1:]
}
