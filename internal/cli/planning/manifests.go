package planning

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/host"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

// Manifests are the objects that planning reads, in the order in which they were given.
type Manifests struct {
	Inventories []v1alpha1.AcceleratorInventory
	Placements  []v1alpha1.ModelPlacement
	Plans       []v1alpha1.ShardingPlan
	Meshes      []v1alpha1.DeviceMesh
	// Calibrations are what was measured at the site.
	Calibrations []v1alpha1.SiteCalibration
	Nodes        []corev1.Node
	pods         []corev1.Pod
	configMaps   []corev1.ConfigMap
	leases       []coordinationv1.Lease // of agents, and of whatever else there is
	site         *cost.Site             // of the calibrations
	// model is the model of the only placement, where it was given in a file of its own.
	model *model.Model
	// live is the cluster that is planned on; nil where the files say all. allPods are those of all its nodes, where they matter.
	live    *cluster.Objects
	allPods []corev1.Pod
	// anonymous says that the placement has a name that nobody gave it, which means none that the cluster knows.
	anonymous bool
	// asIs says that plans in force stay whatever was asked for since, afresh that none does.
	asIs, afresh bool
	// Ignored are the kinds that planning does not read.
	Ignored map[string]int
}

// AddFiles adds -f, which names manifests.
func AddFiles(command *cobra.Command, files *[]string, about string) {
	command.Flags().StringArrayVarP(files, "filename", "f", nil, about)
	_ = command.MarkFlagFilename("filename", manifestEndings...)
}

// manifestEndings are how the names of files with manifests end.
var manifestEndings = []string{"yaml", "yml", "json"}

// WarnOfIgnored tells what kinds of objects were not read.
func (m *Manifests) WarnOfIgnored(streams term.Streams) {
	for _, kind := range slices.Sorted(maps.Keys(m.Ignored)) {
		_, _ = fmt.Fprintf(streams.Err, "warning: %d of kind %s ignored\n", m.Ignored[kind], kind)
	}
}

// ReadManifests reads files, folders of YAML and JSON files, and standard input (`-`).
func ReadManifests(names []string, streams term.Streams) (*Manifests, error) {
	m := &Manifests{Ignored: map[string]int{}}
	for _, name := range names {
		files, err := filesOf(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := term.ReadInput(file, streams, term.MaxInput)
			if err != nil {
				return nil, err
			}
			if err := term.EachObject(content, m.add); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return m, nil
}

// calibrate adds the calibrations of files of their own.
func (m *Manifests) calibrate(from *sizing.CalibrationFlags, streams term.Streams) error {
	list, err := from.Read(streams)
	m.Calibrations = append(m.Calibrations, list...)
	return err
}

// filesOf returns the manifests in a folder, sorted, or the file itself.
func filesOf(name string) ([]string, error) {
	if name == term.StdinName {
		return []string{name}, nil
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return []string{name}, err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(manifestEndings, strings.TrimPrefix(filepath.Ext(e.Name()), ".")) {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no .yaml, .yml or .json file: give a folder with manifests", name)
	}
	return files, nil
}

// add adds an object.
func (m *Manifests) add(head *term.ObjectHead, raw []byte) error {
	read, ok := readers[head.APIVersion+" "+head.Kind]
	if !ok {
		m.Ignored[head.Kind]++
		return nil
	}
	if head.Metadata.Name == "" {
		return fmt.Errorf("%s without metadata.name: add it", head.Kind)
	}
	if err := read(m, raw); err != nil {
		return fmt.Errorf("%s %s: %w", head.Kind, head.Metadata.Name, err)
	}
	return nil
}

// readers are the kinds that planning reads. Placements are written by hand and inventories are saved and edited, so an unknown field in
// them is a mistake; the others come from clusters of any version.
var readers = map[string]func(*Manifests, []byte) error{
	v1alpha1.GroupVersion.String() + " AcceleratorInventory": func(m *Manifests, raw []byte) error {
		read, _, err := host.ParseInventory(raw)
		if err == nil {
			m.Inventories = append(m.Inventories, *read)
		}
		return err
	},
	v1alpha1.GroupVersion.String() + " ShardingPlan": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Plans, raw, false)
	},
	v1alpha1.GroupVersion.String() + " SiteCalibration": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Calibrations, raw, true)
	},
	v1alpha1.GroupVersion.String() + " DeviceMesh": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Meshes, raw, false)
	},
	v1alpha1.GroupVersion.String() + " ModelPlacement": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Placements, raw, true)
	},
	"v1 Node": func(m *Manifests, raw []byte) error { return appendObject(&m.Nodes, raw, false) },
	"v1 Pod":  func(m *Manifests, raw []byte) error { return appendObject(&m.pods, raw, false) },
	coordinationv1.SchemeGroupVersion.String() + " Lease": func(m *Manifests, raw []byte) error {
		return appendObject(&m.leases, raw, false)
	},
	"v1 ConfigMap": func(m *Manifests, raw []byte) error { return appendObject(&m.configMaps, raw, false) },
}

func appendObject[T any](list *[]T, raw []byte, strict bool) error {
	var object T
	unknown, err := kjson.UnmarshalStrict(raw, &object)
	if err == nil && strict {
		err = errors.Join(unknown...)
	}
	if err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

// NamespaceOf returns the namespace of an object that a cluster would put into `default` where it names none.
func NamespaceOf(o metav1.Object) string {
	if n := o.GetNamespace(); n != "" {
		return n
	}
	return metav1.NamespaceDefault
}

// fullName is the namespace and the name of an object.
func fullName(o metav1.Object) string { return NamespaceOf(o) + "/" + o.GetName() }
