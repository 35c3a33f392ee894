package host

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// selectOptions say which devices to show, and in which order.
type selectOptions struct {
	families, vendors             []string
	selector, requirement, sortBy string
}

var families = []string{
	string(v1alpha1.FamilyGPU), string(v1alpha1.FamilyTPU), string(v1alpha1.FamilyNPU), string(v1alpha1.FamilyASIC), string(v1alpha1.FamilyCPU),
}

func addSelection(command *cobra.Command, o *selectOptions) {
	flags := command.Flags()
	flags.StringSliceVar(&o.families, "family", nil, "show devices of these families alone: "+strings.Join(families, ", "))
	flags.StringSliceVar(&o.vendors, "vendor", nil, "show devices of these vendors alone: nvidia (or cuda), amd (or rocm), intel, google, aws, …")
	flags.StringVar(&o.selector, "selector", "", "show devices alone that meet these terms, divided by commas: vendor=nvidia,memory>=80GB,product~h100")
	flags.StringVar(&o.requirement, "requirement", "",
		"show devices of this kind alone, and exit with 1 where too few of them are usable: gpu, tpu>=8, gpu|tpu, any, none, …")
	flags.StringVar(&o.sortBy, "sort-by", "id", "order of the devices: "+strings.Join(inventory.SortKeys, ", "))
	completeList(command, "family", families)
	term.Complete(command, "requirement", inventory.RequirementWords)
	term.Complete(command, "sort-by", inventory.SortKeys)
	completeList(command, "selector", withEnding("=", inventory.FieldNames()))
}

// withEnding are words with something at their end.
func withEnding(ending string, words []string) []string {
	for i := range words {
		words[i] += ending
	}
	return words
}

// completeList offers values for the last part of a list in the shell, without the values that the list has.
func completeList(command *cobra.Command, flag string, values []string) {
	// It fails only for a flag that the command does not have, which the tests of the completion would show.
	_ = command.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		done := typed[:strings.LastIndexByte(typed, ',')+1]
		given := strings.Split(done, ",")
		var offered []string
		for _, value := range values {
			if !slices.Contains(given, value) {
				offered = append(offered, done+value)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// selection is what selectOptions say, understood.
type selection struct {
	filter      inventory.Selector
	requirement *inventory.Requirement
	// required is the requirement as it was written.
	required, sortBy string
}

func (o *selectOptions) parse() (selection, error) {
	s := selection{required: o.requirement, sortBy: o.sortBy}
	filters := []inventory.Selector{}
	if len(o.families) > 0 {
		wanted := make([]v1alpha1.DeviceFamily, len(o.families))
		for i, family := range o.families {
			if wanted[i] = v1alpha1.DeviceFamily(strings.ToUpper(family)); !slices.Contains(families, string(wanted[i])) {
				return s, term.Usagef("--family %s: use one of %s", family, strings.Join(families, ", "))
			}
		}
		filters = append(filters, inventory.ByFamily(wanted...))
	}
	if len(o.vendors) > 0 {
		wanted := strings.Split(strings.Join(o.vendors, ","), ",")
		for i, vendor := range wanted {
			wanted[i] = accelerator.Vendor(vendor)
		}
		filters = append(filters, inventory.ByVendor(wanted...))
	}
	if o.selector != "" {
		selector, err := inventory.ParseSelector(o.selector)
		if err != nil {
			return s, term.Usagef("--selector %s: %w", o.selector, err)
		}
		filters = append(filters, selector)
	}
	s.filter = inventory.All(filters...)
	if o.requirement != "" {
		requirement, err := inventory.ParseRequirement(o.requirement)
		if err != nil {
			return s, term.Usagef("--requirement %s: %w", o.requirement, err)
		}
		s.requirement = &requirement
	}
	if _, err := inventory.Sort(nil, o.sortBy); err != nil {
		return s, term.Usagef("--sort-by: %w", err)
	}
	return s, nil
}

// apply returns the inventory of the selected devices in their order, and what they lack to meet the requirement.
func (s *selection) apply(whole *v1alpha1.AcceleratorInventory) (shown v1alpha1.AcceleratorInventory, unmet string) {
	shown = inventory.Keep(*whole, s.filter)
	if s.requirement != nil {
		unmet = s.requirement.Missing(shown.Status.Devices)
		shown = inventory.Keep(shown, s.requirement.Selects())
	}
	if sorted, err := inventory.Sort(shown.Status.Devices, s.sortBy); err == nil {
		shown.Status.Devices = sorted
	}
	return shown, unmet
}
