package injection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// cdiVendor is the vendor part of our own kinds: `rankwright.dev/nvidia-gpu`.
var cdiVendor = strings.TrimSuffix(v1alpha1.Prefix, "/")

// cdiNames are the qualified names of the granted devices.
func (g grant) cdiNames() ([]string, error) {
	var registry registry
	if g.node.CDIKind != "" {
		var err error
		if registry, err = readRegistry(g.node.Files, g.node.CDIKind); err != nil {
			return nil, err
		}
	}
	var names []string
	for i := range g.devices {
		d := &g.devices[i]
		kind, name := cdiVendor+"/"+g.class, string(d.ID)
		if g.node.CDIKind != "" {
			var err error
			if name, err = registry.find(d, g.node); err != nil {
				return nil, err
			}
			kind = g.node.CDIKind
		}
		if err := checkCDIName(kind, name); err != nil {
			return nil, err
		}
		names = append(names, kind+"="+name)
	}
	return names, nil
}

// checkCDIName holds a name against the rules of the CDI specification (SPEC.md, Kind and device names).
func checkCDIName(kind, name string) error {
	vendor, class, ok := strings.Cut(kind, "/")
	switch {
	case !ok || !isCDIName(vendor, "_-.") || !isCDIName(class, "_-.") || !isLetter(vendor[0]) || !isLetter(class[0]):
		return fmt.Errorf("CDI kind %q: want vendor/class, each of letters, digits, hyphens, underscores and dots, from a letter to a letter or digit", kind)
	case !isCDIName(name, "_-.:"):
		return fmt.Errorf("device %s: not a valid CDI device name, which begins and ends with a letter or digit: take mode %s for %s", name, DeviceNodes, kind)
	default:
		return nil
	}
}

// isCDIName says whether the text begins and ends with a letter or digit and has nothing between but these and the
// punctuation.
func isCDIName(text, punctuation string) bool {
	if text == "" || strings.ContainsRune(punctuation, rune(text[0])) || strings.ContainsRune(punctuation, rune(text[len(text)-1])) {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune(punctuation, rune(c)) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// Specifications describes the served devices of a node for container runtimes, a specification for each class, in order
// of their kinds. Devices that For refuses by themselves are left out.
func Specifications(served []v1alpha1.Device, node Node) ([]specs.Spec, error) {
	classes := map[string][]v1alpha1.Device{}
	for i := range served {
		d := &served[i]
		class := Class(d)
		if checkPaths(d, node.Files) == nil && checkCDIName(cdiVendor+"/"+class, string(d.ID)) == nil {
			classes[class] = append(classes[class], *d)
		}
	}
	var all []specs.Spec
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		spec, err := specification(class, classes[class], node)
		if err != nil {
			return nil, err
		}
		all = append(all, spec)
	}
	return all, nil
}

// specification has the version that the features used need, and no higher one: runtimes refuse versions that they do
// not know. Shared nodes are edits for whichever device is asked for.
func specification(class string, devices []v1alpha1.Device, node Node) (specs.Spec, error) {
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return strings.Compare(string(a.ID), string(b.ID)) })
	spec := specs.Spec{Kind: cdiVendor + "/" + class}
	// Two backends may have devices of one class (NVIDIA's cards and Jetson's GPU).
	shared := map[string]bool{}
	for i := range devices {
		d := &devices[i]
		if i > 0 && d.ID == devices[i-1].ID {
			continue
		}
		kind := kindOf(d)
		for _, name := range kind.sharedNodes(node.Files) {
			shared[name] = true
		}
		spec.Devices = append(spec.Devices, specs.Device{
			Name: string(d.ID), ContainerEdits: specs.ContainerEdits{DeviceNodes: cdiNodes(slices.Clone(d.Paths))},
		})
	}
	spec.ContainerEdits.DeviceNodes = cdiNodes(slices.Collect(maps.Keys(shared)))
	version, err := specs.MinimumRequiredVersion(&spec)
	if err != nil {
		return specs.Spec{}, fmt.Errorf("CDI kind %s: %w", spec.Kind, err)
	}
	spec.Version = version
	return spec, nil
}

func cdiNodes(paths []string) []*specs.DeviceNode {
	slices.Sort(paths)
	var nodes []*specs.DeviceNode
	for _, name := range slices.Compact(paths) {
		nodes = append(nodes, &specs.DeviceNode{Path: name, Permissions: permissions})
	}
	return nodes
}
