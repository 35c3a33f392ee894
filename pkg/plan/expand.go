package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func (c *Cluster) islandOf(m member) *island { return &c.nodes[m.node].islands[m.island] }

// reach is how many devices an island has, with those on other nodes.
func (c *Cluster) reach(is *island) int32 {
	if is.fabric != nil {
		if f := c.fabrics[fabricKey{*is.fabric, is.class}]; f != nil && f.spans() {
			return f.size
		}
	}
	return is.size
}

// expand is the cluster with further free devices, on nodes as large as the island's and labelled as its first one. The
// new nodes share a value of the topology levels, but for the level of single nodes.
func (c *Cluster) expand(model member, more int, levels ...string) *Cluster {
	is, template := c.islandOf(model), c.nodes[model.node]
	size := int(template.widest)
	total := c.classes[is.class].total
	larger := c.Clone()
	for n := 0; more > 0; n++ {
		// A tilde comes after all that names of nodes are made of, so that the other nodes keep their places.
		added := &node{name: fmt.Sprintf("~%04d", n), labels: maps.Clone(template.labels)}
		for _, level := range levels {
			switch {
			case level == "" || added.labels == nil:
			case level == hostnameLevel:
				added.labels[level] = added.name
			default:
				added.labels[level] = "~"
			}
		}
		for range min(size, more) {
			added.devices = append(added.devices, device{class: is.class, free: total})
		}
		added.islands = []island{{class: is.class, domain: -1, wires: is.wires}}
		added.prepare()
		more -= min(size, more)
		larger.put(added)
	}
	return larger
}

// hostnameLevel is the topology level of single nodes.
const hostnameLevel = "kubernetes.io/hostname"

// grow is the cluster with further free devices on an island's node.
func (c *Cluster) grow(at member, more int) *Cluster {
	larger := c.Clone()
	own := *c.nodes[at.node]
	own.devices, own.islands = slices.Clone(own.devices), slices.Clone(own.islands)
	class := own.islands[at.island].class
	for n := range more {
		id := v1alpha1.DeviceID(fmt.Sprintf("~%04d", n))
		own.devices = append(own.devices, device{id: id, class: class, island: at.island, free: c.classes[class].total})
	}
	own.prepare()
	larger.detach(at.node)
	larger.nodes[at.node] = &own
	larger.attach(at.node, nil)
	return larger
}
