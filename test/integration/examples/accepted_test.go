package examples

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/repository"
)

// templates are where kinds that the API server does not know have pod templates.
var templates = map[string][][]string{
	"LeaderWorkerSet": {{"spec", "leaderWorkerTemplate", "workerTemplate"}},
	"MPIJob":          {{"spec", "mpiReplicaSpecs", "Launcher", "template"}, {"spec", "mpiReplicaSpecs", "Worker", "template"}},
}

// Every manifest is accepted, with no field that is not known, has a comment that says what it shows, and asks for a
// placement unless it only looks at hardware.
func TestManifestsAreAccepted(t *testing.T) {
	w := newWorld(t, "accepted")
	strict := client.WithFieldValidation(w.WithWatch, metav1.FieldValidationStrict)
	for _, path := range manifests(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			placed := false
			for _, object := range w.read(path) {
				if object.GetKind() == "Namespace" {
					continue // the pods are tried in the test's own
				}
				object.SetNamespace(w.Home)
				placed = placed || object.GetKind() == "ModelPlacement"
				for _, template := range podTemplates(t, object) {
					if err := strict.Create(t.Context(), template, client.DryRunAll); err != nil {
						t.Errorf("pod template of %s %s: %v", object.GetKind(), object.GetName(), err)
					}
				}
				if err := strict.Create(t.Context(), object, client.DryRunAll); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
			if looks := filepath.Base(filepath.Dir(path)) == "verify"; placed == looks {
				t.Errorf("has a ModelPlacement: %v; all but the verification of hardware have one", placed)
			}
		})
	}
}

// manifests are all below examples/, by their path in the repository, but for those of repairs, which are values of the chart.
func manifests(t *testing.T) []string {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	err = filepath.WalkDir(filepath.Join(root, "examples"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "repair" {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		short, err := filepath.Rel(root, path)
		paths = append(paths, short)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// podTemplates returns the pod templates of an object of a kind that the API server does not validate by itself.
func podTemplates(t *testing.T, object *unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, fields := range templates[object.GetKind()] {
		template, has, err := unstructured.NestedMap(object.Object, fields...)
		if err != nil || !has {
			t.Fatalf("%s has no %s: %v", object.GetName(), strings.Join(fields, "."), err)
		}
		made := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "PodTemplate", "template": template,
			"metadata": map[string]any{"name": object.GetName(), "namespace": object.GetNamespace()},
		}}
		found = append(found, made)
	}
	return found
}

// The table of README.md has every manifest and no other.
func TestReadmeListsTheManifests(t *testing.T) {
	listed := linked(t, "examples/README.md")
	for _, path := range manifests(t) {
		if name := strings.TrimPrefix(path, "examples/"); !slices.Contains(listed, name) {
			t.Errorf("examples/README.md does not link %s", name)
		}
	}
}

// Kinds whose pods are bound carry the label of a placement of the same manifest.
func TestPodTemplatesNameTheirPlacement(t *testing.T) {
	w := newWorld(t, "named")
	for _, path := range manifests(t) {
		objects := w.read(path)
		names := map[string]bool{}
		for _, object := range objects {
			if object.GetKind() == "ModelPlacement" {
				names[object.GetName()] = true
			}
		}
		for _, object := range objects {
			for _, fields := range append(templates[object.GetKind()], []string{"spec", "template"}) {
				label, has, _ := unstructured.NestedString(object.Object, append(slices.Clone(fields), "metadata", "labels", v1alpha1.LabelPlacement)...)
				if has && !names[label] {
					t.Errorf("%s: pods of %s are of placement %q, which the manifest does not have", path, object.GetName(), label)
				}
			}
		}
	}
}
