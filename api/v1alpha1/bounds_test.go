package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestEverySizeIsBounded walks the generated schemas: an object without a bound on each list, map and string can grow to
// the limit of etcd, and its CEL rules cannot be costed.
func TestEverySizeIsBounded(t *testing.T) {
	eachSchema(t, func(path string, schema *apiextensionsv1.JSONSchemaProps) {
		if missing := unbounded(*schema); missing != "" {
			t.Errorf("%s has no %s", path, missing)
		}
		// An item is described by its list.
		if schema.Description == "" && !strings.HasSuffix(path, "[]") && !strings.HasSuffix(path, "{}") {
			t.Errorf("%s has no text for kubectl explain", path)
		}
	})
}

// eachSchema visits every field of the generated schemas, by its path.
func eachSchema(t *testing.T, visit func(path string, schema *apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("generated CRDs: %v, %v; want 5: run make generate", files, err)
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
				if schema, ok := version.Schema.OpenAPIV3Schema.Properties[part]; ok {
					walk(crd.Spec.Names.Kind+"."+part, schema, visit)
				}
			}
		}
	}
}

func walk(path string, schema apiextensionsv1.JSONSchemaProps, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, &schema)
	for name, property := range schema.Properties {
		walk(path+"."+name, property, visit)
	}
	if schema.Items != nil {
		walk(path+"[]", *schema.Items.Schema, visit)
	}
	if schema.AdditionalProperties != nil {
		walk(path+"{}", *schema.AdditionalProperties.Schema, visit)
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
