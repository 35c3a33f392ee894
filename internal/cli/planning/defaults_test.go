package planning

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
)

// TestDefaultsAreThoseOfTheSchema fills in placements as the API server does, from the generated schema.
func TestDefaultsAreThoseOfTheSchema(t *testing.T) {
	structural := placementSchema(t)
	for name, spec := range map[string]string{
		"inference":    `{"model":{"name":"x"},"workload":{"inference":{"maxModelLen":8}}}`,
		"training":     `{"model":{"configMap":{"name":"x"}},"workload":{"training":{"sequenceLength":8,"globalBatch":8}},"devices":{}}`,
		"architecture": `{"model":{"architecture":{"layers":1,"hiddenSize":8,"vocabSize":8,"attention":{"heads":1,"kvHeads":1,"headDim":8},"mlp":{"intermediateSize":8}}},"workload":{}}`,
		"nothing to fill in": `{"model":{"configMap":{"name":"x","key":"y"}},"quantization":"FP8","kvCacheType":"FP8","engine":"MPI","replicas":0,"revisionHistoryLimit":1,"failurePolicy":{"action":"Hold","nodeNotReadySeconds":0,"nodeTaintedSeconds":1,"nodeDrainedSeconds":0,"deviceUnhealthySeconds":2,"deviceOccupiedSeconds":3},` +
			`"devices":{"families":["TPU"]},"workload":{"inference":{"maxModelLen":8,"maxSequences":2,"objective":"Cost"}}}`,
		"no training to fill in": `{"model":{"name":"x"},"workload":{"training":{"sequenceLength":8,"globalBatch":8,"method":"LoRA","optimizer":"SGD","microBatch":2,"sharding":"FSDP"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			manifest := `{"metadata":{"name":"p"},"spec":` + spec + `}`
			ours := clitest.Object[v1alpha1.ModelPlacement](t, manifest)
			setDefaults(&ours)

			raw := clitest.Object[map[string]any](t, manifest)
			defaulting.Default(raw, structural)
			text, err := json.Marshal(raw)
			if err != nil {
				t.Fatal(err)
			}
			theirs := clitest.Object[v1alpha1.ModelPlacement](t, string(text))
			if diff := cmp.Diff(theirs.Spec, ours.Spec); diff != "" {
				t.Errorf("(-API server +ours):\n%s", diff)
			}
		})
	}
}

func placementSchema(t *testing.T) *schema.Structural {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "crd", "rankwright.dev_modelplacements.yaml"))
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
	return structural
}
