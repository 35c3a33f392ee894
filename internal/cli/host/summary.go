package host

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// hostSummary is what --summary prints for programs.
type hostSummary struct {
	inventory.Totals `json:",inline"`

	// Best is the best device that new work could have; absent where there is none.
	Best *bestDevice `json:"best,omitempty"`
	// Warnings are what somebody should look at.
	Warnings []inventory.Warning `json:"warnings,omitempty"`
}

type bestDevice struct {
	ID      v1alpha1.DeviceID `json:"id"`
	Product string            `json:"product,omitempty"`
	FreeMiB int64             `json:"freeMiB,omitempty"`
}

func summaryOf(shown *v1alpha1.AcceleratorInventory) hostSummary {
	summary := hostSummary{Totals: inventory.Sum(shown.Status.Devices), Warnings: inventory.Warnings(&shown.Status)}
	if best, ok := inventory.Best(shown); ok {
		summary.Best = &bestDevice{ID: best.ID, Product: best.Product, FreeMiB: best.FreeMiB()}
	}
	return summary
}

// printSummary writes counts and sums, then the best device and the warnings, a line each; without headers the sums alone.
func printSummary(p *term.Page, shown *v1alpha1.AcceleratorInventory, headers bool) {
	summary := summaryOf(shown)
	if !headers {
		p.Table(nil, totalRows(summary.Totals))
		return
	}
	p.Table([]string{"VENDOR", "FAMILY", "PRODUCT", "DEVICES", "USABLE", "MEMORY", "FREE"}, totalRows(summary.Totals))
	var rows [][2]string
	if best := summary.Best; best != nil {
		text := string(best.ID)
		if best.Product != "" {
			text += ", " + best.Product
		}
		if best.FreeMiB > 0 {
			text += ", " + words.HumanMiB(best.FreeMiB) + " free"
		}
		rows = append(rows, [2]string{"Best", term.Printable(text)})
	}
	for _, warning := range summary.Warnings {
		about := "backend " + warning.Backend
		if warning.Backend == "" {
			about = term.IDs(warning.Devices)
		}
		rows = append(rows, [2]string{"Warning", term.Printable(about + ": " + warningText(warning))})
	}
	p.Paragraph()
	p.Sheet(rows)
}

// totalRows are a row for each product, one for each vendor where there are several, and one for all.
func totalRows(totals inventory.Totals) [][]string {
	list := slices.Clone(totals.ByProduct)
	if len(totals.ByVendor) > 1 {
		for _, t := range totals.ByVendor {
			t.Family, t.Product = "all", "all"
			list = append(list, t)
		}
	}
	all := totals.Total
	all.Vendor, all.Family, all.Product = "all", "all", "all"
	return term.Rows(append(list, all), func(t *inventory.Total) []any {
		return []any{t.Vendor, t.Family, t.Product, t.Devices, t.Usable, words.HumanMiB(t.MemoryMiB), words.HumanMiB(t.FreeMiB)}
	})
}
