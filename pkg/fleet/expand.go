package fleet

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Island returns an island of a node.
func (c *Cluster) Island(m IslandRef) *Island { return &c.nodes[m.Node].Islands[m.Island] }

// Reach returns how many devices an island has, free or not, including those on other nodes of its fabric.
func (c *Cluster) Reach(is *Island) int32 {
	if is.Fabric != nil {
		if f := c.fabrics[fabricKey{*is.Fabric, is.Class}]; f != nil && f.spans() {
			return f.Size
		}
	}
	return is.Size
}

// Expand returns a clone with further free devices like those of an island, on new nodes that are as large as the
// island's node and have its labels. The new nodes share one value of each given topology level, except that of single
// nodes.
func (c *Cluster) Expand(model IslandRef, more int, levels ...string) *Cluster {
	is, template := c.Island(model), c.nodes[model.Node]
	size := int(template.Widest)
	total := c.classes[is.Class].TotalBytes
	larger := c.Clone()
	for n := 0; more > 0; n++ {
		// A tilde sorts after every character of a node's name, so that the existing nodes keep their places.
		added := &NodeEntry{Name: fmt.Sprintf("~%04d", n), Labels: maps.Clone(template.Labels)}
		for _, level := range levels {
			switch {
			case level == "" || added.Labels == nil:
			case level == corev1.LabelHostname:
				added.Labels[level] = added.Name
			default:
				added.Labels[level] = "~"
			}
		}
		for range min(size, more) {
			added.Devices = append(added.Devices, Device{Class: is.Class, FreeBytes: total})
		}
		added.Islands = []Island{{Class: is.Class, domain: -1, Wires: is.Wires}}
		added.prepare()
		more -= min(size, more)
		larger.put(added)
	}
	return larger
}

// Grow returns a clone with further free devices on an island.
func (c *Cluster) Grow(at IslandRef, more int) *Cluster {
	larger, own := c.Clone(), c.nodes[at.Node].copy()
	class := own.Islands[at.Island].Class
	for n := range more {
		id := v1alpha1.DeviceID(fmt.Sprintf("~%04d", n))
		own.Devices = append(own.Devices, Device{ID: id, Class: class, Island: at.Island, FreeBytes: c.classes[class].TotalBytes})
	}
	larger.replace(at.Node, own)
	return larger
}
