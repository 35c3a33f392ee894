package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
)

// Painter makes parts of a cluster that is looked at again and again. What did not change is not worked out anew. The zero value with a source is ready.
type Painter struct {
	Source Source

	follower fleet.Follower
	layouts  map[string]madeLayout
	last     Parts
}

// madeLayout is the layout of a node as it was made from a version of its inventory.
type madeLayout struct {
	from *v1alpha1.AcceleratorInventory
	key  string
	text json.RawMessage
}

// nodePart is a node with its devices, in the order of its layout.
type nodePart struct {
	Layout string `json:"layout"`
	Zone   string `json:"zone,omitempty"`
	Fabric string `json:"fabric,omitempty"`
	Closed string `json:"closed,omitempty"`
	// Partial says that the inventory is not seen: there may be more devices.
	Partial bool `json:"partial,omitempty"`
	// ReadAt is when the agent read how busy the devices are; nil where that is not known of any.
	ReadAt  *metav1.Time `json:"readAt,omitempty"`
	Devices []devicePart `json:"devices"`
}

// devicePart is what changes of a device. A health that is left out is Healthy.
type devicePart struct {
	Condition  holding.Condition    `json:"condition"`
	Why        string               `json:"why,omitempty"`
	Health     v1alpha1.HealthState `json:"health,omitempty"`
	Reason     string               `json:"reason,omitempty"`
	Message    string               `json:"message,omitempty"`
	Cordoned   bool                 `json:"cordoned,omitempty"`
	OthersMiB  int64                `json:"othersMiB,omitempty"`
	PlannedMiB int64                `json:"plannedMiB,omitempty"`
	FreeMiB    int64                `json:"freeMiB,omitempty"`
	// UtilizationPercent is how busy the device was when that was read; nil where it is not known.
	UtilizationPercent *int64         `json:"utilizationPercent,omitempty"`
	Pods               []holding.Pod  `json:"pods,omitempty"`
	Seats              []holding.Seat `json:"seats,omitempty"`
}

// placementPart is a placement in the list.
type placementPart struct {
	holding.Placement

	// Refused is the reason why it has no plan.
	Refused string `json:"refused,omitempty"`
	// Version differs wherever what the placement's own view shows may.
	Version string `json:"version"`
}

// Paint makes the parts of a state, and the snapshot that plans on it are computed from, nil where nothing is known yet.
func (p *Painter) Paint(s *holding.State, outage *Outage) (Parts, *fleet.Snapshot, error) {
	if outage != nil && outage.Awaited != "" {
		parts := Parts{}
		return parts, nil, parts.put("outage", outage)
	}
	f, snapshot := holding.Follow(&p.follower, s)
	parts := Parts{}
	if err := parts.put("fleet", fleetOf(p.Source, f)); err != nil {
		return nil, nil, err
	}
	if outage != nil {
		if err := parts.put("outage", outage); err != nil {
			return nil, nil, err
		}
	}
	if err := p.nodes(parts, f, snapshot); err != nil {
		return nil, nil, err
	}
	versions, refused := versionsOf(s), refusedOf(s)
	for i := range f.Placements {
		key := f.Placements[i].Namespace + "/" + f.Placements[i].Name
		if err := parts.put("placement/"+key, placementPart{f.Placements[i], refused[key], versions[key]}); err != nil {
			return nil, nil, err
		}
	}
	parts.share(p.last)
	p.last = parts
	return parts, snapshot, nil
}

// nodes adds the nodes with their layouts. Devices are in order of their nodes.
func (p *Painter) nodes(parts Parts, f *holding.Fleet, snapshot *fleet.Snapshot) error {
	closed := make(map[string]*holding.Node, len(f.Nodes))
	for i := range f.Nodes {
		closed[f.Nodes[i].Name] = &f.Nodes[i]
	}
	layouts := make(map[string]madeLayout, len(f.Nodes))
	add := func(name string, devices []holding.Device) error {
		made, err := p.layout(name, devices, snapshot.Host(name).Inventory)
		if err != nil {
			return err
		}
		layouts[name] = made
		parts["layout/"+made.key] = made.text
		return parts.put("node/"+name, nodeOf(made.key, closed[name], devices, snapshot.Host(name)))
	}
	for rest := f.Devices; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Node == rest[0].Node {
			n++
		}
		if err := add(rest[0].Node, rest[:n:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	for i := range f.Nodes {
		if _, done := layouts[f.Nodes[i].Name]; !done {
			if err := add(f.Nodes[i].Name, nil); err != nil {
				return err
			}
		}
	}
	p.layouts = layouts
	return nil
}

// layout is the layout of a node, as it was made before where its inventory did not change.
func (p *Painter) layout(name string, devices []holding.Device, from *v1alpha1.AcceleratorInventory) (madeLayout, error) {
	var status *v1alpha1.AcceleratorInventoryStatus
	if from != nil {
		status = &from.Status
		if made := p.layouts[name]; made.from == from && len(devices) == accelerators(status) {
			return made, nil
		}
	}
	text, err := json.Marshal(layoutOf(devices, status))
	if err != nil {
		return madeLayout{}, fmt.Errorf("arrange the devices of node %s: %w", name, err)
	}
	return madeLayout{from, words.Digest(string(text), 12), text}, nil
}

// accelerators counts the devices of an inventory that are shown. Where plans name others, the layout depends on these, too.
func accelerators(status *v1alpha1.AcceleratorInventoryStatus) int {
	n := 0
	for i := range status.Devices {
		if status.Devices[i].Family != v1alpha1.FamilyCPU {
			n++
		}
	}
	return n
}

func nodeOf(layout string, n *holding.Node, devices []holding.Device, host *fleet.Host) *nodePart {
	made := &nodePart{Layout: layout, Partial: host.Inventory == nil, Devices: make([]devicePart, len(devices))}
	if n != nil {
		made.Closed, made.Zone = n.Closed, n.Labels[corev1.LabelTopologyZone]
	}
	if host.Inventory != nil {
		made.Fabric = fabricOf(&host.Inventory.Status)
	}
	for i := range devices {
		made.Devices[i] = deviceOf(&devices[i])
		if u := devices[i].Utilization; u != nil {
			made.ReadAt = &u.ReadAt
		}
	}
	return made
}

func deviceOf(d *holding.Device) devicePart {
	made := devicePart{
		Condition: d.Condition, Why: d.Why, Cordoned: d.Cordoned, OthersMiB: d.Memory.OthersMiB, PlannedMiB: d.Memory.PlannedMiB, FreeMiB: d.Memory.FreeMiB,
		Pods: d.Pods, Seats: d.Seats,
	}
	if d.Utilization != nil {
		made.UtilizationPercent = &d.Utilization.Percent
	}
	if d.Health.State != v1alpha1.Healthy {
		made.Health, made.Reason, made.Message = cmp.Or(d.Health.State, v1alpha1.Unknown), d.Health.Reason, d.Health.Message
	}
	return made
}

// versionsOf are the versions of placements with their plans and meshes, by namespace and name.
func versionsOf(s *holding.State) map[string]string {
	versions := map[string]string{}
	note := func(namespace, placement, version string) {
		key := namespace + "/" + placement
		versions[key] = strings.TrimPrefix(versions[key]+","+version, ",")
	}
	for i := range s.Placements {
		note(s.Placements[i].Namespace, s.Placements[i].Name, s.Placements[i].ResourceVersion)
	}
	for i := range s.Plans {
		note(s.Plans[i].Namespace, s.Plans[i].Spec.Placement.Name, s.Plans[i].Name+"@"+s.Plans[i].ResourceVersion)
	}
	for i := range s.Meshes {
		note(s.Meshes[i].Namespace, s.Meshes[i].Spec.Placement.Name, s.Meshes[i].Name+"@"+s.Meshes[i].ResourceVersion)
	}
	return versions
}

// refusedOf are the reasons why placements have no plan, by namespace and name.
func refusedOf(s *holding.State) map[string]string {
	reasons := map[string]string{}
	for i := range s.Placements {
		if r := refusalOf(&s.Placements[i]); r != nil {
			reasons[s.Placements[i].Namespace+"/"+s.Placements[i].Name] = r.Reason
		}
	}
	return reasons
}
