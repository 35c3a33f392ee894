package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
)

// TestObjectsConform holds every rendered object to the API server's own schemas, in which a field that is not known is
// a mistake.
func TestObjectsConform(t *testing.T) {
	schemas := t.TempDir()
	writeSchemas(t, schemas)
	conform := func(t *testing.T, text string, args ...string) (string, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "objects.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		location := filepath.Join(schemas, "{{ .ResourceKind }}{{ .KindSuffix }}.json")
		stdout, stderr, err := tool(t, nil, "kubeconform", append(args, "-strict", "-summary", "-schema-location", location, path)...)
		return stdout + stderr, err
	}
	for _, values := range allValueSets(t) {
		t.Run(filepath.Base(values), func(t *testing.T) {
			text := mustHelm(t, "template", release, chartDir(t), "--namespace", agentNamespace, "--values", values)
			// The kinds of the Prometheus operator and of OpenShift are none of the API server's.
			if said, err := conform(t, text, "-skip", "PodMonitor,PrometheusRule,SecurityContextConstraints"); err != nil {
				t.Error(said)
			}
		})
	}
	t.Run("a misspelt field", func(t *testing.T) {
		text := mustHelm(t, "template", release, chartDir(t), "--namespace", agentNamespace)
		spoilt := strings.Replace(text, "maxUnavailable: 10%", "maximumUnavailable: 10%", 1)
		if said, err := conform(t, spoilt); err == nil || !strings.Contains(said, "maximumUnavailable") {
			t.Errorf("%v, want a refusal of maximumUnavailable: %s", err, said)
		}
	})
}

// writeSchemas writes a JSON schema for each kind that the API server serves.
func writeSchemas(t *testing.T, dir string) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for path, groupVersion := range paths {
		if strings.HasPrefix(path, "api/") || strings.HasPrefix(path, "apis/") {
			written += writeGroupVersion(t, dir, groupVersion)
		}
	}
	if written == 0 {
		t.Fatal("the API server documents no kind")
	}
}

func writeGroupVersion(t *testing.T, dir string, groupVersion openapi.GroupVersion) int {
	t.Helper()
	content, err := groupVersion.Schema("application/json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	// References name definitions as a schema file does.
	content = []byte(strings.ReplaceAll(string(content), "#/components/schemas/", "#/$defs/"))
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	definitions := document.Components.Schemas
	for _, definition := range definitions {
		closeObjects(definition)
	}
	written := 0
	for name, definition := range definitions {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range kinds {
			kind, _ := entry.(map[string]any)
			schema, err := json.Marshal(map[string]any{"$ref": "#/$defs/" + name, "$defs": definitions})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, schemaFile(kind)), schema, 0o600); err != nil {
				t.Fatal(err)
			}
			written++
		}
	}
	return written
}

// schemaFile is the name that kubeconform gives a kind: in lower case, with the first part of the group.
func schemaFile(kind map[string]any) string {
	group, _, _ := strings.Cut(fmt.Sprint(kind["group"]), ".")
	name := fmt.Sprint(kind["kind"], "-", group, "-", kind["version"])
	return strings.ToLower(strings.ReplaceAll(name, "--", "-")) + ".json"
}

// closeObjects refuses fields that are not known, as the API server does when it is asked to be strict.
func closeObjects(schema map[string]any) {
	_, fields := schema["properties"]
	_, others := schema["additionalProperties"]
	if fields && !others && schema["x-kubernetes-preserve-unknown-fields"] == nil {
		schema["additionalProperties"] = false
	}
	for _, value := range schema {
		closeWithin(value)
	}
}

func closeWithin(value any) {
	switch v := value.(type) {
	case map[string]any:
		closeObjects(v)
	case []any:
		for _, item := range v {
			closeWithin(item)
		}
	}
}
