package host

import (
	"fmt"
	"io"

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

func (o *viewOptions) printSummary(w io.Writer, shown *v1alpha1.AcceleratorInventory) error {
	summary := summaryOf(shown)
	return term.Write(w, term.Format(o.output.name), summary, func(w io.Writer) error {
		header := []string{"VENDOR", "FAMILY", "PRODUCT", "DEVICES", "USABLE", "MEMORY", "FREE"}
		if o.noHeaders {
			return term.Table(w, nil, totalRows(summary.Totals))
		}
		if err := term.Table(w, header, totalRows(summary.Totals)); err != nil {
			return err
		}
		return printRemarks(w, summary)
	})
}

// printRemarks prints the best device and the warnings, a line each.
func printRemarks(w io.Writer, summary hostSummary) error {
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
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return term.Sheet(w, rows)
}

// totalRows are a row for each product, one for each vendor where there are several, and one for all.
func totalRows(totals inventory.Totals) [][]string {
	var rows [][]string
	for _, t := range totals.ByProduct {
		rows = append(rows, totalRow(t.Vendor, string(t.Family), t.Product, t))
	}
	if len(totals.ByVendor) > 1 {
		for _, t := range totals.ByVendor {
			rows = append(rows, totalRow(t.Vendor, "all", "all", t))
		}
	}
	return append(rows, totalRow("all", "all", "all", totals.Total))
}

func totalRow(vendor, family, product string, t inventory.Total) []string {
	return []string{
		vendor, family, product, fmt.Sprint(t.Devices), fmt.Sprint(t.Usable), words.HumanMiB(t.MemoryMiB), words.HumanMiB(t.FreeMiB),
	}
}
