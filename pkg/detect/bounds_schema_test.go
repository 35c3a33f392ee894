package detect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Whatever a backend says, the API server accepts the inventory: one misread number must not cost a node all its
// devices.
func TestAnyFindingFitsTheSchema(t *testing.T) {
	check := inventorySchema(t)
	rapid.Check(t, func(t *rapid.T) {
		var found backend.Found
		fill(t, reflect.ValueOf(&found).Elem(), 0)
		for i := range found.Devices { // else few would be admitted at all
			d := &found.Devices[i]
			d.ID = rapid.SampledFrom([]v1alpha1.DeviceID{"v-a", "v-b", "v-c", d.ID}).Draw(t, "id")
			d.Vendor, d.Family = rapid.SampledFrom([]string{"v", d.Vendor}).Draw(t, "vendor"), rapid.SampledFrom([]v1alpha1.DeviceFamily{v1alpha1.FamilyGPU, d.Family}).Draw(t, "family")
			if d.PCI != nil && rapid.Bool().Draw(t, "on the bus") {
				d.PCI.Address = "0000:17:00." + rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, "function")
			}
		}
		known := []v1alpha1.DeviceID{"v-a", "v-b"}
		for i := range found.Links.Domains {
			found.Links.Domains[i].Members = append(found.Links.Domains[i].Members, known...)
		}
		for i := range found.Links.Pairs {
			if rapid.Bool().Draw(t, "known ends") {
				found.Links.Pairs[i].A, found.Links.Pairs[i].B = known[0], known[1]
			}
		}
		name := rapid.SampledFrom([]string{"b", "a backend of a very long name, longer than it may be"}).Draw(t, "name")
		b := scripted{name, func(context.Context) (backend.Found, error) { return found, nil }}
		status := detect.Detect(context.Background(), host.NewRecording().Host(), detect.Options{Backends: []backend.Backend{b}}).Status
		for _, problem := range check(t, &v1alpha1.AcceleratorInventory{Status: status}) {
			t.Error(problem)
		}
	})
}

// What the API allows is not dropped: a kind that is added there must be added to the bounds, too.
func TestBoundsAllowWhatTheSchemaAllows(t *testing.T) {
	props := statusProperties(t)
	items := func(list string) map[string]apiextensions.JSONSchemaProps { return props[list].Items.Schema.Properties }
	var found backend.Found
	for _, kind := range texts(items("nics")["kind"].Enum) {
		found.NICs = append(found.NICs, v1alpha1.NIC{Name: kind, Kind: kind})
	}
	for _, kind := range texts(items("storage")["kind"].Enum) {
		found.Storage = append(found.Storage, v1alpha1.StorageDevice{Name: kind, Kind: kind})
	}
	for i, family := range texts(items("devices")["family"].Enum) {
		found.Devices = append(found.Devices, v1alpha1.Device{ID: v1alpha1.DeviceID(rune('a' + i)), Vendor: "v", Family: v1alpha1.DeviceFamily(family)})
	}
	var peak []v1alpha1.PeakRate
	for _, precision := range texts(items("devices")["performance"].Properties["peak"].Items.Schema.Properties["precision"].Enum) {
		peak = append(peak, v1alpha1.PeakRate{Precision: v1alpha1.Precision(precision), GFLOPS: 1})
	}
	found.Devices[0].Performance = &v1alpha1.DevicePerformance{Peak: peak}
	for _, topology := range texts(props["links"].Properties["domains"].Items.Schema.Properties["topology"].Enum) {
		found.Links.Domains = append(found.Links.Domains, v1alpha1.LinkDomain{
			Name: topology, Kind: "K", Topology: v1alpha1.DomainTopology(topology), Members: []v1alpha1.DeviceID{"a", "b"},
		})
	}
	status := run(t, scripted{"b", func(context.Context) (backend.Found, error) { return found, nil }})
	for what, counts := range map[string][2]int{
		"ports": {len(found.NICs), len(status.NICs)}, "disks": {len(found.Storage), len(status.Storage)},
		"devices": {len(found.Devices), len(status.Devices)}, "rates": {len(peak), len(status.Devices[0].Performance.Peak)},
		"domains": {len(found.Links.Domains), len(status.Links.Domains)},
	} {
		if counts[0] == 0 || counts[0] != counts[1] {
			t.Errorf("%d of %d kinds of %s are kept", counts[1], counts[0], what)
		}
	}
}

func texts(values []apiextensions.JSON) []string {
	var texts []string
	for _, value := range values {
		texts = append(texts, fmt.Sprint(value))
	}
	return texts
}

// fill sets a value to something that a backend might say by mistake.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Since" {
				fill(t, v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := rapid.SampledFrom([]int{0, 1, 2, 3, 20}).Draw(t, "length")
		if depth > 3 && n == 20 && v.Type().Elem().Kind() == reflect.Struct {
			n = 3
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), depth+1)
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "", "a", "b", "v1", "NVLink", "0000:17:00.0", "Mesh", "NVMe", "RoCE", "FP8", "two words", "\xff\xfe", longText}).Draw(t, "text"))
	case reflect.Int32:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, 2, -1, 64, 65, 1<<31 - 1, -1 << 31}).Draw(t, "int32"))
	case reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, -1, 81559, 16 << 20, 1<<63 - 1, -1 << 63}).Draw(t, "int64"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	}
}

var longText = strings.Repeat("überlang ", 300)

func statusProperties(t *testing.T) map[string]apiextensions.JSONSchemaProps {
	t.Helper()
	return generatedSchema(t).Properties["status"].Properties
}

func generatedSchema(t *testing.T) *apiextensions.JSONSchemaProps {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "rankwright.dev_acceleratorinventories.yaml"))
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
	return &internal
}

// inventorySchema is the API server's own check of an inventory, by the generated schema.
func inventorySchema(t *testing.T) func(*rapid.T, *v1alpha1.AcceleratorInventory) []error {
	t.Helper()
	internal := generatedSchema(t)
	structural, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *rapid.T, inventory *v1alpha1.AcceleratorInventory) []error {
		content, err := json.Marshal(inventory)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(content, &object); err != nil { // as the API server reads numbers
			t.Fatal(err)
		}
		var problems []error
		for _, problem := range append(validation.ValidateCustomResource(nil, object, validator), listtype.ValidateListSetsAndMaps(nil, structural, object)...) {
			problems = append(problems, problem)
		}
		return problems
	}
}
