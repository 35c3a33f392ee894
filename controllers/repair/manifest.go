package repair

import (
	"errors"
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Subject is what a template is filled in with.
type Subject struct {
	// Node is the node's name.
	Node string
	// Device is the device's id, and Whole that of the physical device of which it is a part, or its own.
	Device, Whole string
	// PCIAddress and UUID are empty where the device has none.
	PCIAddress, UUID string
	// Vendor, Product and Fault, the reason of the device's health, are as in the inventory.
	Vendor, Product, Fault string
	// Attempt is the number of the repair, from 1.
	Attempt int32
}

// example is what a template is tried with before there is a fault.
var example = Subject{
	Node: "node-1", Device: "nvidia-0000:17:00.0", Whole: "nvidia-0000:17:00.0", PCIAddress: "0000:17:00.0",
	UUID: "GPU-00000000-0000-0000-0000-000000000000", Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", Fault: "XID79", Attempt: 1,
}

func subjectOf(node string, d *v1alpha1.Device, r *Record) *Subject {
	s := &Subject{
		Node: node, Device: string(d.ID), Whole: string(d.Whole()), UUID: d.UUID, Vendor: d.Vendor, Product: d.Product, Fault: r.Fault, Attempt: r.Attempt,
	}
	if d.PCI != nil {
		s.PCIAddress = d.PCI.Address
	}
	return s
}

// manifest is a template that was tried.
type manifest struct {
	text *template.Template
	// kind of the objects, without content.
	kind *unstructured.Unstructured
}

// functions are what templates may call beside those of text/template: a text of another's is quoted, so that it remains one value.
var functions = template.FuncMap{"quote": func(text string) string { return fmt.Sprintf("%q", text) }}

func parseManifest(text string) (*manifest, error) {
	parsed, err := template.New("template").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	m := &manifest{text: parsed}
	tried, err := m.render(&example)
	if err != nil {
		return nil, err
	}
	m.kind = &unstructured.Unstructured{}
	m.kind.SetGroupVersionKind(tried.GroupVersionKind())
	return m, nil
}

// render returns the object of a repair without name and namespace, which are not the template's to say.
func (m *manifest) render(s *Subject) (*unstructured.Unstructured, error) {
	var text strings.Builder
	if err := m.text.Execute(&text, s); err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text.String()), &made.Object); err != nil {
		return nil, fmt.Errorf("it is no YAML of one object when it is filled in: %w", err)
	}
	if made.GetKind() == "" || made.GetAPIVersion() == "" {
		return nil, errors.New("it lacks apiVersion or kind")
	}
	if made.GetName() != "" || made.GetGenerateName() != "" || made.GetNamespace() != "" {
		return nil, errors.New("it has metadata.name, generateName or namespace: leave them out, repairs get names, and are in the namespace of the settings")
	}
	return made, nil
}
