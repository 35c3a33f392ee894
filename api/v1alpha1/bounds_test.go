package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestEverySizeIsBounded walks the generated schemas: an object without a bound on each list, map and string can grow to
// the limit of etcd, and its CEL rules cannot be costed.
func TestEverySizeIsBounded(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("generated CRDs: %v, %v; want 4: run make generate", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, version := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				walk(t, crd.Spec.Names.Kind+"."+part, version.Schema.OpenAPIV3Schema.Properties[part])
			}
		}
	}
}

func walk(t *testing.T, path string, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if missing := unbounded(schema); missing != "" {
		t.Errorf("%s has no %s", path, missing)
	}
	if schema.Description == "" {
		t.Errorf("%s has no text for kubectl explain", path)
	}
	for name, property := range schema.Properties {
		walk(t, path+"."+name, property)
	}
	if schema.Items != nil {
		// An item is described by its list.
		item := *schema.Items.Schema
		item.Description += " "
		walk(t, path+"[]", item)
	}
	if schema.AdditionalProperties != nil {
		value := *schema.AdditionalProperties.Schema
		value.Description += " "
		walk(t, path+"{}", value)
	}
}

func unbounded(schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case schema.Type == "array" && schema.MaxItems == nil:
		return "maxItems"
	case schema.Type == "object" && schema.AdditionalProperties != nil && schema.MaxProperties == nil:
		return "maxProperties"
	case schema.Type == "string" && schema.MaxLength == nil && len(schema.Enum) == 0 && schema.Format != "date-time":
		return fmt.Sprintf("maxLength (pattern %q)", schema.Pattern)
	default:
		return ""
	}
}
