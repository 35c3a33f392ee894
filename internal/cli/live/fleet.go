package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

var fleetView = topView{
	use: "top", short: "See the devices of a cluster: who holds what, what is free, and what idle devices cost",
	long: `See the fleet on one screen: how many devices pods use, plans reserve, nobody holds and nobody may have; their memory
and health; what idle devices cost an hour; and the largest placements. The subcommands show each device, node,
placement and product.

Everything is read once, with the rights of the user. What these do not allow is named as not permitted, and devices
that somebody unseen might hold are unknown, never free.`,
	example: `  kubectl rankwright top
  kubectl rankwright top --watch
  kubectl rankwright top -l topology.kubernetes.io/zone=a -o json`,
	labels: "nodes",
	show: func(l *look) (any, func(*term.Page), error) {
		f := l.summary()
		return f, f.print, nil
	},
}

// fleet is the cluster on one screen.
type fleet struct {
	Nodes        int                 `json:"nodes"`
	Closed       int                 `json:"closedNodes"`
	Totals       holding.Totals      `json:"totals"`
	Products     []holding.Group     `json:"products"`
	Placements   []holding.Placement `json:"placements"`
	Attention    []holding.Device    `json:"attention,omitempty"`
	NotPermitted []holding.Unseen    `json:"notPermitted,omitempty"`
}

func (l *look) summary() *fleet {
	devices, nodes := l.meant(), l.nodeRows()
	f := &fleet{
		Nodes: len(nodes), Totals: holding.Sum(devices), Products: holding.Grouped(devices, productOf), Placements: l.placementsIn(l.cluster.Named), NotPermitted: l.Unseen,
	}
	for i := range nodes {
		if nodes[i].Closed != "" {
			f.Closed++
		}
	}
	for i := range devices {
		if d := &devices[i]; d.Health.State == v1alpha1.Unhealthy || d.Health.State == v1alpha1.Degraded || d.Cordoned {
			f.Attention = append(f.Attention, *d)
		}
	}
	slices.SortStableFunc(f.Placements, func(a, b holding.Placement) int { return cmp.Compare(b.Totals.Devices, a.Totals.Devices) })
	return f
}

// Rows of one screen.
const (
	mostPlacements = 10
	mostAttention  = 5
)

func (f *fleet) print(p *term.Page) {
	t := &f.Totals
	seen := !slices.ContainsFunc(f.NotPermitted, func(u holding.Unseen) bool { return u.Kind == holding.Inventories })
	p.Sheet([][2]string{
		term.RowIf(seen, "Nodes", nodesText(f)),
		{"Devices", devicesText(t, seen)},
		term.RowIf(seen, "Health", healthText(t)),
		term.RowIf(seen, "Memory", fmt.Sprintf("%s: %s held (plans take %s), %s used by others, %s free", words.HumanMiB(t.MemoryMiB), words.HumanMiB(t.HeldMiB),
			words.HumanMiB(t.PlannedMiB), words.HumanMiB(t.OthersMiB), words.HumanMiB(t.FreeMiB))),
		term.RowIf(seen && !t.Utilization.IsZero(), "Utilization", utilizationRow(t.Utilization)),
		term.RowIf(seen, "Cost", costText(t)),
	})
	p.Paragraph()
	term.Fit(p, productColumns, f.Products)
	p.Paragraph()
	shown := f.Placements[:min(len(f.Placements), mostPlacements)]
	term.Fit(p, placementColumns, shown)
	more(p, len(f.Placements)-len(shown), "kubectl rankwright top placements -A")
	p.Paragraph()
	attention := f.Attention[:min(len(f.Attention), mostAttention)]
	term.Fit(p, attentionColumns, attention)
	more(p, len(f.Attention)-len(attention), "kubectl rankwright top devices")
}

// more says how many rows are left out.
func more(p *term.Page, n int, command string) {
	if n > 0 {
		p.Linef("and %d more: %s", n, command)
	}
}

// attentionColumns tell of devices that somebody should look at.
var attentionColumns = []term.Column[holding.Device]{
	deviceColumns[0], deviceColumns[1],
	{Name: "LOOK AT", Cell: func(d *holding.Device) string {
		var parts []string
		if d.Health.State != v1alpha1.Healthy {
			parts = append(parts, strings.TrimSuffix(string(d.Health.State)+": "+d.Health.Reason, ": "))
		}
		if d.Cordoned {
			parts = append(parts, "cordoned")
		}
		return strings.Join(parts, ", ")
	}},
	holderColumn,
}

// conditionWords are the conditions as they follow a number of devices.
var conditionWords = map[holding.Condition]string{
	holding.InUse: "in use", holding.Reserved: "reserved", holding.Idle: "idle", holding.OutOfUse: "out of use", holding.Unknown: "not known to be free",
}

// devicesText says how many devices there are in which condition; where inventories are not seen, how many plans show.
func devicesText(t *holding.Totals, seen bool) string {
	var parts []string
	for _, c := range holding.Conditions {
		if n := t.Conditions[c]; n > 0 || c == holding.Idle && seen {
			parts = append(parts, fmt.Sprintf("%d %s", n, conditionWords[c]))
		}
	}
	switch in := strings.Join(parts, ", "); {
	case seen:
		return fmt.Sprintf("%d: %s", t.Devices, in)
	case t.Devices == 0:
		return "not permitted to see"
	default:
		return in + ", by plans; not permitted to see the others"
	}
}

func nodesText(f *fleet) string {
	text := strconv.Itoa(f.Nodes)
	if f.Closed > 0 {
		text += fmt.Sprintf(", of which %d take no new work", f.Closed)
	}
	return text
}

func healthText(t *holding.Totals) string {
	text := fmt.Sprintf("%d of %d healthy", t.Healthy, t.Devices)
	if t.Cordoned > 0 {
		text += fmt.Sprintf("; %d cordoned", t.Cordoned)
	}
	return text
}

func utilizationRow(m holding.Mean) string {
	return fmt.Sprintf("%s on average of the %s that show it", percent(m.Percent()), words.Counted(int(m.Of), "device"))
}

func costText(t *holding.Totals) string {
	text := fmt.Sprintf("%s USD an hour by the cheapest offers known, idle devices %s of it", usd(t.MicroUSDPerHour), usd(t.IdleMicroUSDPerHour))
	if t.Unpriced > 0 {
		text += fmt.Sprintf("; of %s no price is known", words.Counted(t.Unpriced, "device"))
	}
	return text
}
