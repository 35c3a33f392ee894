package synthetic_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// everyShape is a cluster with a few nodes of each shape, some devices held.
func everyShape(t *testing.T) []fleet.Node {
	spec := synthetic.Spec{Occupied: 4000, Pattern: synthetic.Fragments, Seed: 5}
	for _, name := range synthetic.Names() {
		spec.Nodes = append(spec.Nodes, synthetic.Count{Shape: shape(t, name), Nodes: 19})
	}
	return build(t, spec)
}

// TestInventoriesFitTheSchema holds every inventory to the generated schema as the API server does.
func TestInventoriesFitTheSchema(t *testing.T) {
	check := inventorySchema(t)
	for _, n := range everyShape(t) {
		for _, problem := range check(t, n.Inventory) {
			t.Errorf("%s: %v", n.Name, problem)
		}
		for key, value := range n.Labels {
			if problems := append(k8svalidation.IsQualifiedName(key), k8svalidation.IsValidLabelValue(value)...); len(problems) > 0 {
				t.Errorf("%s: label %s=%s: %v", n.Name, key, value, problems)
			}
		}
		if problems := k8svalidation.IsDNS1123Subdomain(n.Name); len(problems) > 0 {
			t.Errorf("%s: %v", n.Name, problems)
		}
	}
}

// TestDevicesAreTheCatalogues holds names, memory and links to the embedded catalogue.
func TestDevicesAreTheCatalogues(t *testing.T) {
	for _, n := range everyShape(t) {
		status := &n.Inventory.Status
		for _, d := range status.Devices {
			known, ok := accelerator.Lookup(accelerator.Key{VendorID: d.PCI.VendorID, DeviceID: d.PCI.DeviceID, Product: d.Product, MemoryMiB: d.Memory.TotalMiB})
			if !ok || d.Performance == nil || len(d.Performance.Peak) == 0 || d.Family != known.Family {
				t.Fatalf("%s: %s is not in the catalogue, of another family or without rates", n.Name, d.Product)
			}
			if least := known.MemoryMiB * 7 / 8; d.Memory.TotalMiB < least || d.Memory.TotalMiB > known.MemoryMiB*9/8 {
				t.Errorf("%s: %s has %d MiB, the catalogue %d", n.Name, d.Product, d.Memory.TotalMiB, known.MemoryMiB)
			}
			for _, domain := range status.Links.Domains {
				want := known.LinkMBps
				if domain.Kind == "ICI" { // two of a chip's four ports are in use at the corner of such small slices
					want /= 2
				}
				if domain.DeviceMBps != want {
					t.Errorf("%s: a device sends %d MB/s into the domain, the catalogue says %d", n.Name, domain.DeviceMBps, want)
				}
			}
		}
	}
}

func TestTopologyLevelsNest(t *testing.T) {
	within := map[string]string{}
	for _, n := range everyShape(t) {
		for _, levels := range [][2]string{
			{"kubernetes.io/hostname", synthetic.LabelRack},
			{synthetic.LabelRack, synthetic.LabelBlock},
			{synthetic.LabelBlock, "topology.kubernetes.io/zone"},
		} {
			inner, outer := n.Labels[levels[0]], n.Labels[levels[1]]
			if old, seen := within[inner]; inner == "" || outer == "" || (seen && old != outer) {
				t.Errorf("%s %q is in %s %q and %q", levels[0], inner, levels[1], old, outer)
			}
			within[inner] = outer
		}
	}
}

func inventorySchema(t *testing.T) func(*testing.T, any) []error {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "crd", "rankwright.dev_acceleratorinventories.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &definition); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, inventory any) []error {
		text, err := json.Marshal(inventory)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		var problems []error
		for _, problem := range append(validation.ValidateCustomResource(nil, object, validator), listtype.ValidateListSetsAndMaps(nil, structural, object)...) {
			problems = append(problems, problem)
		}
		return problems
	}
}
