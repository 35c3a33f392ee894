package planning

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/model"
)

// Manifests are the objects that planning reads, in the order in which they were given.
type Manifests struct {
	Inventories []v1alpha1.AcceleratorInventory
	Placements  []v1alpha1.ModelPlacement
	Plans       []v1alpha1.ShardingPlan
	Meshes      []v1alpha1.DeviceMesh
	Nodes       []corev1.Node
	pods        []corev1.Pod
	configMaps  []corev1.ConfigMap
	// model is the model of the only placement, where it was given in a file of its own.
	model *model.Model
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
			if err := m.addStream(content); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return m, nil
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

// addStream adds every document of a YAML or JSON stream.
func (m *Manifests) addStream(content []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for number := 1; ; number++ {
		var document runtime.RawExtension
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
		raw := bytes.TrimSpace(document.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		if err := m.add(raw); err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
	}
}

// add adds an object, or the items of a list.
func (m *Manifests) add(raw []byte) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head); err != nil {
		return err
	}
	if head.Kind == "" || head.APIVersion == "" {
		return errors.New("no Kubernetes object: add apiVersion and kind")
	}
	if strings.HasSuffix(head.Kind, "List") && head.Items != nil {
		return m.addItems(head.Items)
	}
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

func (m *Manifests) addItems(items []json.RawMessage) error {
	for i, item := range items {
		if err := m.add(item); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return nil
}

// readers are the kinds that planning reads. A placement is written by hand, so an unknown field in it is a mistake; the
// others come from clusters of any version.
var readers = map[string]func(*Manifests, []byte) error{
	v1alpha1.GroupVersion.String() + " AcceleratorInventory": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Inventories, raw, false)
	},
	v1alpha1.GroupVersion.String() + " ShardingPlan": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Plans, raw, false)
	},
	v1alpha1.GroupVersion.String() + " DeviceMesh": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Meshes, raw, false)
	},
	v1alpha1.GroupVersion.String() + " ModelPlacement": func(m *Manifests, raw []byte) error {
		return appendObject(&m.Placements, raw, true)
	},
	"v1 Node":      func(m *Manifests, raw []byte) error { return appendObject(&m.Nodes, raw, false) },
	"v1 Pod":       func(m *Manifests, raw []byte) error { return appendObject(&m.pods, raw, false) },
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
