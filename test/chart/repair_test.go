package chart

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rankwright/rankwright/controllers/repair"
)

// TestExamplesOfRepairs renders the chart with each example of repairs, and reads the settings as the operator does. The operator may ask for
// the repairs' account, and has no right to what that account makes.
func TestExamplesOfRepairs(t *testing.T) {
	examples, err := filepath.Glob(filepath.Join(root(t), "examples", "repair", "*.yaml"))
	if err != nil || len(examples) != 3 {
		t.Fatalf("examples: %q, %v", examples, err)
	}
	for _, example := range examples {
		t.Run(filepath.Base(example), func(t *testing.T) {
			found := map[string]*unstructured.Unstructured{"ConfigMap/rankwright-repair-settings": {}}
			for _, object := range render(t, "--values", example) {
				found[object.GetKind()+"/"+object.GetName()] = object
			}
			text, _, err := unstructured.NestedString(found["ConfigMap/rankwright-repair-settings"].Object, "data", "repairs.yaml")
			if err != nil {
				t.Fatal(err)
			}
			settings, err := repair.ParseSettings([]byte(text))
			if err != nil || !settings.Repairs() {
				t.Fatalf("%v:\n%s", err, text)
			}
			if settings.Namespace != "rankwright-repair" || settings.ServiceAccountName != "rankwright-repair" {
				t.Errorf("account %s of namespace %s", settings.ServiceAccountName, settings.Namespace)
			}
			for name, account := range map[string]string{"RoleBinding/rankwright-repair-operator": operatorNamespace, "RoleBinding/rankwright-repair": settings.Namespace, "ClusterRoleBinding/rankwright-repair": settings.Namespace} {
				if b, has := found[name]; has {
					subjects, _, _ := unstructured.NestedSlice(b.Object, "subjects")
					if subject, is := subjects[0].(map[string]any); !is || subject["namespace"] != account {
						t.Errorf("%s is for %v", name, subjects)
					}
				}
			}
		})
	}
}
