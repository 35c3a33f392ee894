package injection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// cdiFolders are where runtimes look for specifications, the later over the earlier (CDI SPEC.md).
var cdiFolders = []string{"/etc/cdi", "/var/run/cdi"}

// registry is what a vendor's own specifications describe.
type registry struct {
	kind    string
	devices []registered
	// problems are files that could not be read.
	problems []error
}

// registered is a device of a specification with the nodes and mounts that a container gets by it.
type registered struct {
	name   string
	file   string
	nodes  []string
	mounts []*specs.Mount
}

// readRegistry reads the specifications of a kind.
func readRegistry(files host.Files, kind string) (registry, error) {
	r := registry{kind: kind}
	if err := checkCDIName(kind, "0"); err != nil {
		return r, err
	}
	if files == nil {
		return r, fmt.Errorf("CDI kind %s: the node's files are not known, so that its specification cannot be found", kind)
	}
	for _, folder := range cdiFolders {
		devices, err := r.readFolder(files, folder)
		if err != nil {
			return r, err
		}
		// A name in a folder of higher priority hides the same in one of lower.
		r.devices = slices.DeleteFunc(r.devices, func(old registered) bool {
			return slices.ContainsFunc(devices, func(d registered) bool { return d.name == old.name })
		})
		r.devices = append(r.devices, devices...)
	}
	return r, nil
}

func (r *registry) readFolder(files host.Files, folder string) ([]registered, error) {
	names, err := files.ReadDir(folder)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("CDI kind %s: %w", r.kind, err)
	}
	var devices []registered
	for _, name := range names {
		if ending := path.Ext(name); ending != ".json" && ending != ".yaml" {
			continue
		}
		file := path.Join(folder, name)
		spec, err := readSpecification(files, file)
		if err != nil {
			r.problems = append(r.problems, err)
			continue
		}
		if spec.Kind == r.kind {
			devices = append(devices, registeredIn(spec, file)...)
		}
	}
	return r.dropConflicts(devices), nil
}

func readSpecification(files host.Files, file string) (*specs.Spec, error) {
	content, err := files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	spec, err := parseSpecification(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return spec, nil
}

// parseSpecification reads JSON or YAML; fields that it does not know belong to newer versions and are left alone.
func parseSpecification(content []byte) (*specs.Spec, error) {
	spec := &specs.Spec{}
	if err := yaml.Unmarshal(content, spec); err != nil {
		return nil, fmt.Errorf("not a CDI specification: %w", err)
	}
	return spec, nil
}

func registeredIn(spec *specs.Spec, file string) []registered {
	var devices []registered
	for _, d := range spec.Devices {
		devices = append(devices, registered{
			name: d.Name, file: file,
			nodes:  append(nodePaths(d.ContainerEdits.DeviceNodes), nodePaths(spec.ContainerEdits.DeviceNodes)...),
			mounts: slices.Concat(d.ContainerEdits.Mounts, spec.ContainerEdits.Mounts),
		})
	}
	return devices
}

func nodePaths(nodes []*specs.DeviceNode) []string {
	var paths []string
	for _, node := range nodes {
		if node != nil {
			paths = append(paths, node.Path)
		}
	}
	return paths
}

// dropConflicts leaves out names that two files of one folder have: runtimes resolve neither.
func (r *registry) dropConflicts(devices []registered) []registered {
	file := map[string]string{}
	conflicts := map[string]bool{}
	for _, d := range devices {
		if other, ok := file[d.name]; ok && !conflicts[d.name] {
			conflicts[d.name] = true
			r.problems = append(r.problems, fmt.Errorf("%s=%s is in %s and in %s, and no runtime takes it from either: remove one", r.kind, d.name, other, d.file))
		}
		file[d.name] = d.file
	}
	return slices.DeleteFunc(devices, func(d registered) bool { return conflicts[d.name] })
}

// find returns the name by which the vendor's specification has the device: its UUID, else the first name whose nodes are
// the device's and no other's. Indexes are not compared: the vendor's tool numbers devices in an order of its own.
func (r *registry) find(d *v1alpha1.Device, node Node) (string, error) {
	var fitting []string
	problems := slices.Clone(r.problems)
	others := grant{devices: []v1alpha1.Device{*d}, node: node}.others()
	for _, candidate := range r.devices {
		if !candidate.gives(d, others) {
			continue
		}
		if err := candidate.checkLibrary(r.kind, d); err != nil {
			problems = append(problems, err)
			continue
		}
		fitting = append(fitting, candidate.name)
	}
	if d.UUID != "" && slices.Contains(fitting, d.UUID) {
		return d.UUID, nil
	}
	if len(fitting) > 0 {
		// The shortest, so that an index comes before `all`.
		return slices.MinFunc(fitting, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }), nil
	}
	because := ""
	if err := errors.Join(problems...); err != nil {
		because = " (" + strings.ReplaceAll(err.Error(), "\n", "; ") + ")"
	}
	return "", fmt.Errorf("device %s: no specification in %s has it as kind %s by uuid %q or by its nodes%s: generate one (%s), or unset cdiKind",
		d.ID, strings.Join(cdiFolders, " or "), r.kind, d.UUID, because, generator(r.kind))
}

// generators are the vendors' tools that write a specification.
var generators = map[string]string{
	"nvidia.com/gpu": "nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml",
	"amd.com/gpu":    "amd-ctk cdi generate --output=/etc/cdi/amd.json",
}

func generator(kind string) string { return cmp.Or(generators[kind], "by the vendor's tool") }

// checkLibrary says why a container would not get the user library that it needs of the node's driver.
func (c registered) checkLibrary(kind string, d *v1alpha1.Device) error {
	needed := kindOf(d).Library
	if needed == "" {
		return nil
	}
	name, found := mounted(c.mounts, needed)
	switch {
	case !found:
		return fmt.Errorf("%s=%s of %s mounts no %s", kind, c.name, c.file, needed)
	case differs(releaseOf(name), d.DriverVersion):
		return fmt.Errorf("%s=%s of %s is of driver %s, and the node's is %s", kind, c.name, c.file, releaseOf(name), d.DriverVersion)
	}
	return nil
}

// gives says whether a container gets the device by the specification's, and none of the others.
func (c registered) gives(d *v1alpha1.Device, others []*v1alpha1.Device) bool {
	missing := slices.ContainsFunc(essential(d, others), func(name string) bool { return !slices.Contains(c.nodes, name) })
	return !missing && len(seenBy(c.nodes, others)) == 0
}

// essential returns the device's nodes that a specification must have: the ones that it shares with no other device, else all.
// DRM's nodes for displays are not among them, since vendors leave them out.
func essential(d *v1alpha1.Device, others []*v1alpha1.Device) []string {
	var own, all []string
	for _, name := range d.Paths {
		if strings.HasPrefix(name, "/dev/dri/card") {
			continue
		}
		all = append(all, name)
		if !slices.ContainsFunc(others, func(other *v1alpha1.Device) bool { return slices.Contains(other.Paths, name) }) {
			own = append(own, name)
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}
