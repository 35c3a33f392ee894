package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

var devicesView = topView{
	use: "devices", short: "Every device: its memory, its health and who holds it",
	long: `Show every device with its memory, its health, and who holds it: the pod by what the kubelet reports, and the rank of
the plan that has it. UTIL is how busy it was when its node's agent looked last. A state is one of

  InUse      a kubelet reports a pod on the device
  Reserved   a plan has the device, or a pod was bound to it, and no kubelet reports a pod there yet
  Idle       nobody holds the device, and a plan may have it
  OutOfUse   nobody holds the device, and no plan may have it: it is cordoned, unhealthy, or its node takes no new work
  Unknown    nobody is seen to hold the device, and what the user may not see, or the kubelet does not say, might`,
	example: `  # What costs money and does nothing
  kubectl rankwright top devices --state Idle --sort-by usd/h

  # What the team's pods and placements hold
  kubectl rankwright top devices -n team-a

  # For a script: the names alone
  kubectl rankwright top devices --state OutOfUse -o name`,
	keys: term.Keys(deviceColumns), labels: "nodes",
	show: func(l *look) (any, func(*term.Page), error) {
		return list(l, deviceColumns, l.meant(), deviceName, "No devices.", narrowDeviceColumns...)
	},
}

// deviceName is a device as an argument of commands.
func deviceName(d *holding.Device) string { return "device/" + d.Node + "/" + string(d.ID) }

var deviceColumns = []term.Column[holding.Device]{
	{Name: "NODE", Cell: func(d *holding.Device) string { return d.Node }},
	{Name: "DEVICE", Cell: func(d *holding.Device) string { return string(d.ID) }, Whole: true},
	{Name: "PRODUCT", Cell: func(d *holding.Device) string { return d.Product }, Drop: 7},
	{Name: "MEMORY", Cell: func(d *holding.Device) string { return mib(d.Memory.TotalMiB) }, Number: func(d *holding.Device) float64 { return float64(d.Memory.TotalMiB) }, Drop: 5},
	{Name: "PLANNED", Cell: func(d *holding.Device) string { return mib(d.Memory.PlannedMiB) }, Number: func(d *holding.Device) float64 { return float64(d.Memory.PlannedMiB) }, Wide: true},
	{Name: "OTHERS", Cell: func(d *holding.Device) string { return mib(d.Memory.OthersMiB) }, Number: func(d *holding.Device) float64 { return float64(d.Memory.OthersMiB) }, Wide: true},
	{Name: "FREE", Cell: func(d *holding.Device) string { return mib(d.Memory.FreeMiB) }, Number: func(d *holding.Device) float64 { return float64(d.Memory.FreeMiB) }, Drop: 6},
	{Name: "UTIL", Cell: utilizationText, Number: utilizationOf, Drop: 4, Optional: true},
	{Name: "HEALTH", Cell: func(d *holding.Device) string { return string(d.Health.State) }, Drop: 2},
	stateColumn,
	{Name: "POD", Cell: podsText},
	{Name: "CONTAINER", Cell: containersText, Wide: true},
	{Name: "PLACEMENT", Cell: seatText(func(s *holding.Seat) string { return s.Key() })},
	{Name: "PLAN", Cell: seatText(func(s *holding.Seat) string { return s.Plan }), Wide: true},
	{Name: "RANK", Cell: seatText(rankText), Drop: 1, Optional: true},
	{Name: "USD/H", Cell: hourly, Number: func(d *holding.Device) float64 { cost, _ := d.Hourly(); return float64(cost) }, Drop: 3, Optional: true},
	whyColumn,
}

// Columns of devices that several tables have.
var (
	stateColumn  = term.Column[holding.Device]{Name: "STATE", Cell: func(d *holding.Device) string { return string(d.Condition) }}
	whyColumn    = term.Column[holding.Device]{Name: "WHY", Cell: func(d *holding.Device) string { return d.Why }, Optional: true}
	holderColumn = term.Column[holding.Device]{Name: "HELD BY", Cell: func(d *holding.Device) string {
		return cmp.Or(podsText(d), seatText(func(s *holding.Seat) string { return s.Key() })(d))
	}, Optional: true}
)

// narrowDeviceColumns name a pod or a placement, not both.
var narrowDeviceColumns = []term.Column[holding.Device]{deviceColumns[0], deviceColumns[1], stateColumn, holderColumn, whyColumn}

// utilizationText is how busy a device was when its agent looked last.
func utilizationText(d *holding.Device) string {
	if d.Utilization == nil {
		return ""
	}
	return percent(d.Utilization.Percent)
}

// utilizationOf is what devices are sorted by; those that do not show it are last.
func utilizationOf(d *holding.Device) float64 {
	if d.Utilization == nil {
		return -1
	}
	return float64(d.Utilization.Percent)
}

func percent(n int64) string { return strconv.FormatInt(n, 10) + "%" }

// meanText is the mean utilization of devices; nothing where none shows it.
func meanText(m holding.Mean) string {
	if m.IsZero() {
		return ""
	}
	return percent(m.Percent())
}

// mib is an amount of memory; nothing where there is none.
func mib(n int64) string {
	if n == 0 {
		return ""
	}
	return words.HumanMiB(n)
}

// usd is an amount in dollars.
func usd(micro int64) string { return strconv.FormatFloat(float64(micro)/1e6, 'f', 2, 64) }

func hourly(d *holding.Device) string {
	if cost, known := d.Hourly(); known {
		return usd(cost)
	}
	return ""
}

func podsText(d *holding.Device) string {
	return joined(d.Pods, func(p *holding.Pod) string {
		if p.Bound {
			return p.Namespace + "/" + p.Name + " (bound)"
		}
		return p.Namespace + "/" + p.Name
	})
}

func containersText(d *holding.Device) string {
	return joined(d.Pods, func(p *holding.Pod) string { return p.Container })
}

// seatText prints something of the seats of a device.
func seatText(of func(*holding.Seat) string) func(*holding.Device) string {
	return func(d *holding.Device) string { return joined(d.Seats, of) }
}

// rankText is the copy and the rank of a seat.
func rankText(s *holding.Seat) string {
	if s.Rank == nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", s.Copy, *s.Rank)
}

// joined are the texts of a list, each once.
func joined[T any](list []T, of func(*T) string) string {
	var texts []string
	for i := range list {
		if text := of(&list[i]); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ",")
}

// totalsColumns are the columns of what has sums of devices.
func totalsColumns[T any](of func(*T) *holding.Totals) []term.Column[T] {
	count := func(name string, drop int, optional bool, count func(*holding.Totals) int) term.Column[T] {
		return term.Column[T]{Name: name, Drop: drop, Optional: optional, Number: func(t *T) float64 { return float64(count(of(t))) }, Cell: func(t *T) string {
			return strconv.Itoa(count(of(t)))
		}}
	}
	amount := func(name string, drop int, wide bool, amount func(*holding.Totals) int64) term.Column[T] {
		return term.Column[T]{
			Name: name, Drop: drop, Wide: wide, Number: func(t *T) float64 { return float64(amount(of(t))) }, Cell: func(t *T) string { return mib(amount(of(t))) },
		}
	}
	in := func(c holding.Condition) func(*holding.Totals) int {
		return func(t *holding.Totals) int { return t.Conditions[c] }
	}
	return []term.Column[T]{
		count("DEVICES", 0, false, func(t *holding.Totals) int { return t.Devices }),
		count("IN USE", 0, false, in(holding.InUse)),
		count("RESERVED", 0, false, in(holding.Reserved)),
		count("IDLE", 0, false, in(holding.Idle)),
		count("OUT", 0, true, in(holding.OutOfUse)),
		count("UNKNOWN", 0, true, in(holding.Unknown)),
		{
			Name: "UTIL", Drop: 5, Optional: true, Cell: func(t *T) string { return meanText(of(t).Utilization) },
			Number: func(t *T) float64 { return float64(of(t).Utilization.Percent()) },
		},
		count("HEALTHY", 5, false, func(t *holding.Totals) int { return t.Healthy }),
		amount("MEMORY", 3, false, func(t *holding.Totals) int64 { return t.MemoryMiB }),
		amount("HELD", 4, false, func(t *holding.Totals) int64 { return t.HeldMiB }),
		amount("PLANNED", 0, true, func(t *holding.Totals) int64 { return t.PlannedMiB }),
		amount("OTHERS", 0, true, func(t *holding.Totals) int64 { return t.OthersMiB }),
		amount("FREE", 0, false, func(t *holding.Totals) int64 { return t.FreeMiB }),
		{
			Name: "IDLE USD/H", Drop: 2, Cell: func(t *T) string { return usd(of(t).IdleMicroUSDPerHour) },
			Number: func(t *T) float64 { return float64(of(t).IdleMicroUSDPerHour) },
		},
	}
}

// nodeRow is a node with the sums of its devices.
type nodeRow struct {
	holding.Node

	Products string         `json:"products"`
	Totals   holding.Totals `json:"totals"`
}

var nodeColumns = slices.Concat(
	[]term.Column[nodeRow]{{Name: "NODE", Cell: func(n *nodeRow) string { return n.Name }}},
	totalsColumns(func(n *nodeRow) *holding.Totals { return &n.Totals }),
	[]term.Column[nodeRow]{
		{Name: "CLOSED", Cell: func(n *nodeRow) string { return n.Closed }, Optional: true},
		{Name: "PRODUCTS", Cell: func(n *nodeRow) string { return n.Products }, Drop: 6},
	},
)

var nodesView = topView{
	use: "nodes", short: "Every node: how many of its devices are held, idle and out of use",
	long: `Show every node that has an inventory, with how many of its devices pods use, plans reserve, nobody holds and nobody may
have, and the memory of them: HELD is that of devices in use or reserved, FREE what a new plan may have.`,
	example: `  kubectl rankwright top nodes --sort-by idle-usd/h
  kubectl rankwright top nodes -l topology.kubernetes.io/zone=a --watch`,
	keys: term.Keys(nodeColumns), labels: "nodes",
	show: func(l *look) (any, func(*term.Page), error) {
		return list(l, nodeColumns, l.nodeRows(), func(n *nodeRow) string { return "node/" + n.Name }, "No nodes with devices.")
	},
}

// nodeRows are the nodes that are meant. Without a word about devices those are there that have none.
func (l *look) nodeRows() []nodeRow {
	byNode := map[string][]holding.Device{}
	for _, d := range l.meant() {
		byNode[d.Node] = append(byNode[d.Node], d)
	}
	var rows []nodeRow
	for _, node := range l.Nodes {
		devices := byNode[node.Name]
		if len(devices) == 0 && l.cluster.Named != "" || !l.selects.Matches(labels.Set(node.Labels)) {
			continue
		}
		rows = append(rows, nodeRow{node, productsText(devices), holding.Sum(devices)})
	}
	return rows
}

// productsText counts products: 8x NVIDIA H100.
func productsText(devices []holding.Device) string {
	groups := holding.Grouped(devices, productOf)
	return joined(groups, func(g *holding.Group) string { return fmt.Sprintf("%dx %s", g.Totals.Devices, g.Name) })
}

func productOf(d *holding.Device) string { return d.ProductName() }

var productColumns = slices.Concat(
	[]term.Column[holding.Group]{{Name: "PRODUCT", Cell: func(g *holding.Group) string { return g.Name }}},
	totalsColumns(func(g *holding.Group) *holding.Totals { return &g.Totals }),
)

var productsView = topView{
	use: "products", short: "Every product: how many devices there are, and what the idle ones cost",
	long: `Show every product with its devices in the cluster, how many are held, idle and out of use, and what the idle ones
cost an hour by the cheapest offer that is known (see kubectl rankwright cost).`,
	example: `  kubectl rankwright top products
  kubectl rankwright top products --sort-by free -o wide`,
	keys: term.Keys(productColumns), labels: "nodes",
	show: func(l *look) (any, func(*term.Page), error) {
		return list(l, productColumns, holding.Grouped(l.meant(), productOf), func(g *holding.Group) string { return g.Name }, "No devices.")
	},
}

var placementColumns = []term.Column[holding.Placement]{
	{Name: "NAMESPACE", Cell: func(p *holding.Placement) string { return p.Namespace }},
	{Name: "PLACEMENT", Cell: func(p *holding.Placement) string { return p.Name }},
	{Name: "MODEL", Cell: func(p *holding.Placement) string { return p.Model }, Drop: 4},
	{Name: "STRATEGY", Cell: func(p *holding.Placement) string { return p.Strategy }},
	{Name: "DEVICES", Cell: func(p *holding.Placement) string { return strconv.Itoa(p.Totals.Devices) }, Number: func(p *holding.Placement) float64 { return float64(p.Totals.Devices) }},
	{Name: "IN USE", Cell: func(p *holding.Placement) string { return strconv.Itoa(p.Totals.Conditions[holding.InUse]) }, Number: func(p *holding.Placement) float64 { return float64(p.Totals.Conditions[holding.InUse]) }, Drop: 1},
	{
		Name: "UTIL", Cell: func(p *holding.Placement) string { return meanText(p.Totals.Utilization) }, Drop: 5, Optional: true,
		Number: func(p *holding.Placement) float64 { return float64(p.Totals.Utilization.Percent()) },
	},
	{Name: "NODES", Cell: func(p *holding.Placement) string { return strconv.Itoa(len(p.Nodes)) }, Number: func(p *holding.Placement) float64 { return float64(len(p.Nodes)) }, Drop: 5},
	{Name: "PLANNED", Cell: func(p *holding.Placement) string { return mib(p.Totals.PlannedMiB) }, Number: func(p *holding.Placement) float64 { return float64(p.Totals.PlannedMiB) }, Drop: 3},
	{Name: "OF", Cell: func(p *holding.Placement) string { return mib(p.Totals.MemoryMiB) }, Number: func(p *holding.Placement) float64 { return float64(p.Totals.MemoryMiB) }, Wide: true},
	{Name: "USD/H", Cell: func(p *holding.Placement) string { return usd(p.Totals.MicroUSDPerHour) }, Number: func(p *holding.Placement) float64 { return float64(p.Totals.MicroUSDPerHour) }, Drop: 2},
	{Name: "READY", Cell: func(p *holding.Placement) string { return p.Ready }},
	{Name: "REASON", Cell: func(p *holding.Placement) string { return p.Reason }},
	{Name: "PLAN", Cell: func(p *holding.Placement) string { return p.Plan }, Wide: true},
}

var placementsView = topView{
	use: "placements", short: "Every placement: what it holds, and what that costs",
	long: `Show every placement of a namespace with the devices of its plans, how many of them its pods use, the memory that it is
planned to take, and what the devices cost an hour.`,
	example: `  kubectl rankwright top placements -A --sort-by usd/h
  kubectl rankwright top placements -n team-a -o custom-columns=NAME:.name,NODES:.nodes`,
	keys: term.Keys(placementColumns), labels: "placements",
	show: func(l *look) (any, func(*term.Page), error) {
		within := l.cluster.Within()
		rows := l.placementsIn(within)
		none := "No placements."
		if within != "" {
			none = fmt.Sprintf("No placements in namespace %s; -A looks in all.", within)
		}
		return list(l, placementColumns, rows, placementName, none)
	},
}

func placementName(p *holding.Placement) string { return "modelplacement.rankwright.dev/" + p.Name }

// placementsIn are the placements of a namespace, or of all where it is empty, that -l selects.
func (l *look) placementsIn(namespace string) []holding.Placement {
	return slices.DeleteFunc(slices.Clone(l.Placements), func(p holding.Placement) bool {
		return namespace != "" && p.Namespace != namespace || !l.selects.Matches(labels.Set(p.Labels))
	})
}
