package injection

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/parser"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// cdiVendor is the vendor part of our own kinds: `rankwright.dev/nvidia-gpu`.
var cdiVendor = strings.TrimSuffix(v1alpha1.Prefix, "/")

// cdiNames are the qualified names of the granted devices.
func (g grant) cdiNames() ([]string, error) {
	kind, nameOf := cdiVendor+"/"+g.class, func(d *v1alpha1.Device) (string, error) { return string(d.ID), nil }
	if g.settings.CDIKind != "" {
		kind = g.settings.CDIKind
		registry, err := readRegistry(g.node.Files, kind)
		if err != nil {
			return nil, err
		}
		nameOf = func(d *v1alpha1.Device) (string, error) { return registry.find(d, g.node) }
	}
	var names []string
	for i := range g.devices {
		name, err := nameOf(&g.devices[i])
		if err == nil {
			err = checkCDIName(kind, name)
		}
		if err != nil {
			return nil, err
		}
		names = append(names, kind+"="+name)
	}
	return names, nil
}

// checkCDIName holds a name against the rules of the CDI specification (SPEC.md, Kind and device names).
func checkCDIName(kind, name string) error {
	if _, _, _, err := parser.ParseQualifiedName(kind + "=" + name); err != nil {
		return fmt.Errorf("device %s of CDI kind %q: want vendor/class, and a name that begins and ends with a letter or digit: %w: take mode %s", name, kind, err, DeviceNodes)
	}
	return nil
}

// Specifications describes the served devices of a node for container runtimes, a specification for each class, in order
// of their kinds. Devices that For refuses by themselves are left out. Of the kinds in unknown, it cannot be said what
// containers need of the driver: what was written for them is neither better nor worse for that.
func Specifications(served []v1alpha1.Device, node Node) (all []specs.Spec, unknown []string, err error) {
	classes := map[string][]v1alpha1.Device{}
	for i := range served {
		d := &served[i]
		class := Class(d)
		hostsOwn := ofHostsOwn(d) && node.needsDriver(*d)
		if !hostsOwn && checkPaths(d, node.Files) == nil && checkCDIName(cdiVendor+"/"+class, string(d.ID)) == nil {
			classes[class] = append(classes[class], *d)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		if node.Driver == nil && slices.ContainsFunc(classes[class], node.needsDriver) {
			unknown = append(unknown, cdiVendor+"/"+class)
			continue
		}
		spec, err := specification(class, classes[class], node)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, spec)
	}
	return all, unknown, nil
}

// specification has the version that the features used need, and no higher one: runtimes refuse versions that they do
// not know. Shared nodes are edits for whichever device is asked for, as is what the driver adds.
func specification(class string, devices []v1alpha1.Device, node Node) (specs.Spec, error) {
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return strings.Compare(string(a.ID), string(b.ID)) })
	spec := specs.Spec{Kind: cdiVendor + "/" + class}
	// Two backends may have devices of one class (NVIDIA's cards and Jetson's GPU).
	var shared []string
	for i := range devices {
		d := &devices[i]
		if i > 0 && d.ID == devices[i-1].ID {
			continue
		}
		edits, err := node.edits(d, append(slices.Clone(d.Paths), drmNodes(d, node.Files)...))
		if err != nil {
			return specs.Spec{}, err
		}
		spec.Devices = append(spec.Devices, specs.Device{Name: string(d.ID), ContainerEdits: edits})
		kind := kindOf(d)
		shared = slices.Concat(shared, kind.sharedNodes(node.Files), node.Vendors[d.Vendor].imexNodes())
		if node.needsDriver(*d) {
			driver := node.Driver.edits
			spec.ContainerEdits.Env, spec.ContainerEdits.Mounts, spec.ContainerEdits.Hooks = driver.Env, driver.Mounts, driver.Hooks
		}
	}
	spec.ContainerEdits.DeviceNodes = cdiNodes(shared)
	version, err := specs.MinimumRequiredVersion(&spec)
	if err != nil {
		return specs.Spec{}, fmt.Errorf("CDI kind %s: %w", spec.Kind, err)
	}
	spec.Version = version
	return spec, nil
}

// edits give a container the nodes of a device, and where that is set the groups that own them.
func (n *Node) edits(d *v1alpha1.Device, paths []string) (specs.ContainerEdits, error) {
	edits := specs.ContainerEdits{DeviceNodes: cdiNodes(paths)}
	if n.Vendors[d.Vendor].AdditionalGIDs {
		groups, err := n.groups(paths)
		if err != nil {
			return edits, fmt.Errorf("device %s: additionalGids: %w", d.ID, err)
		}
		edits.AdditionalGIDs = groups
	}
	return edits, nil
}

// groups returns the ids of the groups that own the device nodes that not everybody may read and write, but for root's group.
func (n *Node) groups(paths []string) ([]uint32, error) {
	if n.Group == nil || n.Files == nil {
		return nil, errors.New("the owners of the node's files are not known: leave it out")
	}
	var groups []uint32
	for _, name := range paths {
		mode, err := n.Files.Stat(name)
		if err != nil {
			return nil, err
		}
		const everybody = 0o006
		if mode.Perm()&everybody == everybody {
			continue
		}
		gid, err := n.Group(name)
		if err != nil {
			return nil, err
		}
		if gid != 0 {
			groups = append(groups, gid)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil
}

func cdiNodes(paths []string) []*specs.DeviceNode {
	var nodes []*specs.DeviceNode
	for _, name := range eachOnce(paths) {
		nodes = append(nodes, &specs.DeviceNode{Path: name, Permissions: Permissions})
	}
	return nodes
}
