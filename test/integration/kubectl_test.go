package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
)

// terminalWidth is what the tables of `kubectl get` must fit; where several kinds are asked for, kubectl writes the kind before each name.
const (
	terminalWidth = 120
	kindPrefix    = len("modelplacement.rankwright.dev/")
)

// kubectl runs the real kubectl as administrator and returns what it prints.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return cluster.Kubectl(t, args...)
}

// withStatus creates the object and writes the status, given in YAML, through its subresource.
func withStatus(t *testing.T, object *unstructured.Unstructured, namespace, status string) *unstructured.Unstructured {
	t.Helper()
	created := mustCreate(t, object, namespace)
	var content map[string]any
	if err := yaml.Unmarshal([]byte(status), &content); err != nil {
		t.Fatal(err)
	}
	created.Object["status"] = content
	updated, err := resource(t, object.GetKind(), namespace).UpdateStatus(t.Context(), created,
		metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	return updated
}

func condition(kind, status, reason string) string {
	return "{type: " + kind + `, status: "` + status + `", reason: ` + reason +
		`, message: of this test, lastTransitionTime: "2026-01-01T00:00:00Z"}`
}

func TestTablesFitATerminal(t *testing.T) {
	to := namespace(t)
	withStatus(t, manifest(t, "acceleratorinventory", ""), to, `
summary: {devices: 8, healthy: 8, products: 8x NVIDIA H100 80GB HBM3, memory: 637.2 GiB, memoryMiB: 652472,
  free: 557.5 GiB, freeMiB: 570880, links: NVLink, drivers: nvidia 580.95.05}`)
	withStatus(t, manifest(t, "modelplacement", ""), to, `
model: Llama-3.1-70B
strategy: TP8 PP2 x2
devices: 32
nodes: 4
estimate: {tokensPerSecond: {value: 123456}}
replicas: 2
summary: {pods: 1249/1250}
conditions: [`+condition("Placed", "True", "Placed")+", "+condition("Ready", "False", "ProgressDeadlineExceeded")+`]`)
	withStatus(t, manifest(t, "shardingplan", ""), to, `conditions: [`+condition("Active", "True", "Committed")+`]`)
	withStatus(t, manifest(t, "devicemesh", ""), to, `conditions: [`+condition("Ready", "True", "AllMembersHealthy")+`]`)

	tests := []struct {
		resource string
		want     []string
	}{
		{"acceleratorinventories", []string{"DEVICES", "HEALTHY", "PRODUCTS", "MEMORY", "UNUSED", "AGE", "8x NVIDIA H100 80GB HBM3", "637.2 GiB", "557.5 GiB"}},
		{"modelplacements", []string{"MODEL", "STRATEGY", "DEVICES", "NODES", "TOK/S", "PLACED", "READY", "REASON", "AGE", "TP8 PP2 x2", "123456", "1249/1250", "ProgressDeadlineExceeded"}},
		{"shardingplans", []string{"MODEL", "STRATEGY", "DEVICES", "NODES", "MEMORY", "ACTIVE", "AGE", "183.4 GiB"}},
		{"devicemeshes", []string{"ENGINE", "ORDER", "SHAPE", "WORLD", "READY", "AGE", "tp-pp-dp"}},
		{"modelplacements,shardingplans,devicemeshes", []string{"modelplacement.rankwright.dev/", "shardingplan.rankwright.dev/", "devicemesh.rankwright.dev/"}},
	}
	for _, test := range tests {
		t.Run(test.resource, func(t *testing.T) {
			table := kubectl(t, "get", test.resource, "-n", to)
			for _, want := range test.want {
				if !strings.Contains(table, want) {
					t.Errorf("the table has no %q:\n%s", want, table)
				}
			}
			most := terminalWidth
			if strings.Contains(test.resource, ",") {
				most += kindPrefix
			}
			for line := range strings.Lines(table) {
				if width := utf8.RuneCountInString(strings.TrimRight(line, " \n")); width > most {
					t.Errorf("%d columns, want at most %d:\n%s", width, most, line)
				}
			}
		})
	}
	t.Run("short names and category", func(t *testing.T) {
		for _, name := range []string{"accinv", "mp", "splan", "dmesh"} {
			if table := kubectl(t, "get", name, "-n", to); strings.Count(table, "\n") != 2 {
				t.Errorf("kubectl get %s has not one row:\n%s", name, table)
			}
		}
		for _, want := range []string{"acceleratorinventory", "modelplacement", "shardingplan", "devicemesh"} {
			if table := kubectl(t, "get", "rankwright", "-n", to, "-o", "name"); !strings.Contains(table, want) {
				t.Errorf("kubectl get rankwright has no %s:\n%s", want, table)
			}
		}
	})
}

func TestScale(t *testing.T) {
	to := namespace(t)
	withStatus(t, manifest(t, "modelplacement", ""), to, `{replicas: 1, selector: "rankwright.dev/placement=llama-70b"}`)
	kubectl(t, "scale", "modelplacement/llama-70b", "-n", to, "--replicas=3")
	scaled, err := resource(t, "ModelPlacement", to).Get(t.Context(), "llama-70b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if replicas, _, _ := unstructured.NestedInt64(scaled.Object, "spec", "replicas"); replicas != 3 {
		t.Errorf("spec.replicas = %d after kubectl scale, want 3", replicas)
	}
	scale, err := resource(t, "ModelPlacement", to).Get(t.Context(), "llama-70b", metav1.GetOptions{}, "scale")
	if err != nil {
		t.Fatal(err)
	}
	replicas, _, _ := unstructured.NestedInt64(scale.Object, "status", "replicas")
	selector, _, _ := unstructured.NestedString(scale.Object, "status", "selector")
	if replicas != 1 || selector != "rankwright.dev/placement=llama-70b" {
		t.Errorf("scale status = %d, %q; want the placement's", replicas, selector)
	}
}

// TestAppliedManifestLeavesTheScale: a manifest without a number of copies does not undo what was scaled, however it is applied.
func TestAppliedManifestLeavesTheScale(t *testing.T) {
	for name, how := range map[string][]string{"client-side": nil, "server-side": {"--server-side"}} {
		t.Run(name, func(t *testing.T) {
			to := namespace(t)
			object := manifest(t, "modelplacement", "spec: {replicas: null}")
			object.SetNamespace(to)
			text, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "placement.json")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			apply := append([]string{"apply", "-f", file}, how...)
			replicas := func() string {
				return kubectl(t, "get", "modelplacement/llama-70b", "-n", to, "-o", "jsonpath={.spec.replicas}")
			}
			kubectl(t, apply...)
			if n := replicas(); n != "" {
				t.Errorf("%s copies, and nobody asked for any number", n)
			}
			kubectl(t, "scale", "modelplacement/llama-70b", "-n", to, "--replicas=3")
			kubectl(t, apply...)
			if n := replicas(); n != "3" {
				t.Errorf("%q copies after the manifest was applied again, want the 3 that were scaled to", n)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	tests := []struct {
		field string
		want  []string
	}{
		{"modelplacement", []string{"asks for a model to be placed"}},
		{"modelplacement.spec.workload", []string{"Exactly one of inference and training", "model that answers requests", "trained or fine-tuned"}},
		{"modelplacement.spec.model", []string{"Exactly one of name, parameters, architecture and configMap", "Llama-3.1-70B"}},
		{"acceleratorinventory.status.devices.memory", []string{"in MiB (2^20 bytes), as the driver reports it"}},
		{"shardingplan.spec.stages", []string{"from 0, of the first layer", "from 0, of the last layer of the stage, which it includes"}},
		{"devicemesh.spec.order", []string{"from the fastest to the slowest"}},
	}
	for _, test := range tests {
		t.Run(test.field, func(t *testing.T) {
			// kubectl breaks lines where it likes.
			text := strings.Join(strings.Fields(kubectl(t, "explain", test.field)), " ")
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
		})
	}
}

// TestKustomizationIsComplete holds config/kustomization.yaml to the files beside it.
func TestKustomizationIsComplete(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(root, "config")
	folders, err := filepath.Glob(filepath.Join(config, "*"))
	if err != nil {
		t.Fatal(err)
	}
	// What cleans up is not among what is installed, nor components: folders with a kustomization of their own.
	folders = slices.DeleteFunc(folders, func(name string) bool {
		_, err := os.Stat(filepath.Join(name, "kustomization.yaml"))
		return filepath.Ext(name) != "" || err == nil
	})
	objects, err := controlplane.ReadManifests(folders...)
	if err != nil || len(objects) == 0 {
		t.Fatalf("%d manifests in %v: %v", len(objects), folders, err)
	}
	rendered := kubectl(t, "kustomize", config)
	if got := strings.Count("\n"+rendered, "\napiVersion:"); got != len(objects) {
		t.Errorf("kubectl kustomize config renders %d objects, the folders hold %d: list every file", got, len(objects))
	}
}

// TestComponentOfDRA adds to an installation what agents need that serve devices by claims.
func TestComponentOfDRA(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	// kustomize takes relative paths only.
	config, err := filepath.Rel(folder, filepath.Join(root, "config"))
	if err != nil {
		t.Fatal(err)
	}
	content := fmt.Sprintf("resources: [%s]\ncomponents: [%s/dra]\n", config, config)
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	rendered := kubectl(t, "kustomize", folder)
	for _, want := range []string{
		"name: rankwright.dev\n", "name: placement.rankwright.dev\n", "- --dra-folder=/var/lib/kubelet/plugins/rankwright.dev\n",
		"mountPath: /var/lib/kubelet/plugins_registry\n", "- resourceslices\n",
	} {
		if !strings.Contains(rendered, want) {
			t.Errorf("no %q in what kubectl kustomize renders", want)
		}
	}
}
