package integration

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/controlplane"
)

// plurals maps each kind to its resource.
var plurals = map[string]string{
	"AcceleratorInventory": "acceleratorinventories",
	"ModelPlacement":       "modelplacements",
	"ShardingPlan":         "shardingplans",
	"DeviceMesh":           "devicemeshes",
}

// namespace makes a namespace that only this test uses.
func namespace(t *testing.T) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	created, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.Name
}

// resource returns the administrator's client for the kind.
func resource(t *testing.T, kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	group := schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: plurals[kind]}
	if kind == "AcceleratorInventory" {
		return client.Resource(group)
	}
	return client.Resource(group).Namespace(namespace)
}

// manifest returns the good manifest of that name, changed by a merge patch in YAML.
func manifest(t *testing.T, name, patch string) *unstructured.Unstructured {
	t.Helper()
	objects, err := controlplane.ReadManifests(filepath.Join("testdata", "manifests", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	original, err := objects[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	change, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	if patch == "" {
		change = []byte("{}")
	}
	merged, err := jsonpatch.MergePatch(original, change)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(merged, &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// create sends the object as kubectl does: unknown and duplicate fields are errors.
func create(t *testing.T, object *unstructured.Unstructured, namespace string, dryRun ...string) (*unstructured.Unstructured, error) {
	t.Helper()
	return resource(t, object.GetKind(), namespace).Create(t.Context(), object,
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
}

// mustCreate creates the object. An object without a namespace is deleted when the test ends, since other tests would meet it.
func mustCreate(t *testing.T, object *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	t.Helper()
	created, err := create(t, object, namespace)
	if err != nil {
		t.Fatal(err)
	}
	if created.GetNamespace() == "" {
		t.Cleanup(func() {
			if err := resource(t, created.GetKind(), "").Delete(context.Background(), created.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	return created
}
