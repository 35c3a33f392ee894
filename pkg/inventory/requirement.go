package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// Requirement is what work needs of a host: one or more alternatives, each a number of devices of a kind.
type Requirement struct {
	choices []choice
}

// choice is one alternative of a requirement.
type choice struct {
	kind  *requiredKind
	least int
}

// requiredKind is a kind of device that a requirement can name.
type requiredKind struct {
	name    string
	selects Selector
	// noun names what is counted; a chip of several devices counts once.
	noun  string
	chips bool
	// nothing says that no device is required, so that every host meets it.
	nothing bool
}

// requiredKinds are the kinds of requirements, among them those of the API's DeviceRequirements, in any case.
var requiredKinds = []requiredKind{
	{name: "none", noun: "device", selects: All(), nothing: true},
	{name: "any", noun: "accelerator", selects: accelerators},
	{name: "gpu", noun: "GPU", selects: ByFamily(v1alpha1.FamilyGPU)},
	{name: "tpu", noun: "TPU chip", selects: ByFamily(v1alpha1.FamilyTPU), chips: true},
	{name: "npu", noun: "NPU", selects: ByFamily(v1alpha1.FamilyNPU)},
	{name: "asic", noun: "ASIC", selects: ByFamily(v1alpha1.FamilyASIC)},
	{name: "GPUOrTPU", noun: "GPU or TPU", selects: ByFamily(v1alpha1.FamilyGPU, v1alpha1.FamilyTPU)},
	{name: "gaudi", noun: "Gaudi", selects: All(ByFamily(v1alpha1.FamilyASIC), Any(byBackend("gaudi"), ByProduct("gaudi")))},
	{name: "cuda", noun: "NVIDIA GPU", selects: All(ByFamily(v1alpha1.FamilyGPU), ByVendor(accelerator.Vendor("cuda")))},
	{name: "rocm", noun: "AMD GPU", selects: All(ByFamily(v1alpha1.FamilyGPU), ByVendor(accelerator.Vendor("rocm")))},
	{name: "neuron", noun: "Neuron device", selects: All(ByFamily(v1alpha1.FamilyASIC), ByVendor("aws")), chips: true},
}

// RequirementWords are the kinds that a requirement can name.
var RequirementWords = namesOf(requiredKinds, func(k *requiredKind) string { return k.name })

// accelerators selects all devices but the host's own processors.
func accelerators(d *v1alpha1.Device) bool { return d.Family != v1alpha1.FamilyCPU }

// maxRequired is more than a host has.
const maxRequired = 100_000

// ParseRequirement reads a requirement: a kind, with the least number of them where it is more than one, or several such
// divided by |, any of which will do.
//
//	gpu
//	tpu>=8
//	gpu>=4|gaudi>=8
func ParseRequirement(text string) (Requirement, error) {
	choices, err := readParts(text, "|", parseChoice)
	return Requirement{choices}, err
}

func parseChoice(part string, offset int) (choice, error) {
	word, number, counted := strings.Cut(part, string(AtLeast))
	at := offset + leadingBlanks(word) + 1
	name := strings.Trim(word, blanks)
	known := slices.IndexFunc(requiredKinds, func(k requiredKind) bool { return strings.EqualFold(k.name, name) })
	if known < 0 {
		return choice{}, fmt.Errorf("position %d: unknown requirement %q: use one of %s, with >= and a number where it is more than one, and | between several",
			at, words.Echo(name), strings.Join(RequirementWords, ", "))
	}
	kind := &requiredKinds[known]
	if !counted {
		return choice{kind, 1}, nil
	}
	at = offset + len(word) + len(AtLeast) + leadingBlanks(number) + 1
	if kind.nothing {
		return choice{}, fmt.Errorf("position %d: none has no number: leave it out", at)
	}
	least, err := strconv.Atoi(strings.Trim(number, blanks))
	if err != nil || least < 1 || least > maxRequired {
		return choice{}, fmt.Errorf("position %d: number %q of %s: write a whole number from 1 to %d",
			at, words.Echo(strings.Trim(number, blanks)), kind.name, maxRequired)
	}
	return choice{kind, least}, nil
}

// Selects returns a selector of the devices of the kinds that the requirement names, usable or not.
func (r Requirement) Selects() Selector {
	var kinds []Selector
	for _, c := range r.choices {
		kinds = append(kinds, c.kind.selects)
	}
	return Any(kinds...)
}

// Missing says what the devices lack to meet the requirement, choice by choice; empty where they meet it. Unusable
// devices do not count.
func (r Requirement) Missing(devices []v1alpha1.Device) string {
	var missing []string
	for _, c := range r.choices {
		what := c.missing(devices)
		if what == "" {
			return ""
		}
		missing = append(missing, what)
	}
	return strings.Join(missing, "; or ")
}

func (c choice) missing(devices []v1alpha1.Device) string {
	if c.kind.nothing {
		return ""
	}
	there := Pick(devices, c.kind.selects)
	have := c.count(Pick(there, usable))
	if have >= c.least {
		return ""
	}
	what := fmt.Sprintf("%s needed, %d usable", words.Counted(c.least, c.kind.noun), have)
	if broken := Pick(there, Not(usable)); len(broken) > 0 {
		what += ", not usable: " + unusable(broken)
	}
	return what
}

// count counts devices, or the chips that they are parts of.
func (c choice) count(devices []v1alpha1.Device) int {
	if !c.kind.chips {
		return len(devices)
	}
	chips := map[v1alpha1.DeviceID]bool{}
	for i := range devices {
		chips[devices[i].Whole()] = true
	}
	return len(chips)
}

// maxNamed bounds how many unusable devices are named.
const maxNamed = 4

func unusable(devices []v1alpha1.Device) string {
	var parts []string
	for i := range devices[:min(maxNamed, len(devices))] {
		d := &devices[i]
		parts = append(parts, fmt.Sprintf("%s (%s)", d.ID, strings.TrimSpace(string(d.Health.State)+" "+d.Health.Reason)))
	}
	if more := len(devices) - maxNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}
