package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/internal/repository"
)

// fieldManager owns what Apply writes.
const fieldManager = "rankwright-test"

// ReadManifests returns the objects of YAML files, and of the .yaml files of folders, in order of file name and place.
func ReadManifests(paths ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		names := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("manifests: %w", err)
		} else if info.IsDir() {
			if names, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, fmt.Errorf("manifests in %s: %w", path, err)
			}
			slices.Sort(names)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("manifests: %w", err)
			}
			read, err := decodeManifests(content)
			if err != nil {
				return nil, fmt.Errorf("manifests in %s: %w", name, err)
			}
			objects = append(objects, read...)
		}
	}
	return objects, nil
}

// ReadConfig returns the objects of files and folders below config/ of the repository.
func ReadConfig(names ...string) ([]*unstructured.Unstructured, error) {
	root, err := repository.Root()
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(root, "config", filepath.FromSlash(name))
	}
	return ReadManifests(paths...)
}

func decodeManifests(content []byte) ([]*unstructured.Unstructured, error) {
	const buffer = 4096
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), buffer); ; {
		var object map[string]any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: object})
		}
	}
}

// Apply applies objects by server-side apply, in their order. Namespaced objects without a namespace go to
// namespace.
func Apply(ctx context.Context, config *rest.Config, namespace string, objects ...*unstructured.Unstructured) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	for _, object := range objects {
		object = object.DeepCopy()
		namespaced, err := c.IsObjectNamespaced(object)
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		if err == nil {
			err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager), client.ForceOwnership)
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// InstallCRDs applies the CustomResourceDefinitions of a folder and returns when the API server serves all of them.
func (c *ControlPlane) InstallCRDs(ctx context.Context, dir string) error {
	objects, err := ReadManifests(dir)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("%s has no CustomResourceDefinition: run `make generate`", dir)
	}
	if err := Apply(ctx, c.admin, "", objects...); err != nil {
		return err
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(c.admin)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	for _, object := range objects {
		if err := awaitServed(ctx, discoverer, object); err != nil {
			return err
		}
	}
	return nil
}

// awaitServed asks discovery rather than the Established condition, which comes true a moment before requests succeed.
func awaitServed(ctx context.Context, discoverer discovery.DiscoveryInterface, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, entry := range versions {
		version, _ := entry.(map[string]any)
		groupVersion := fmt.Sprintf("%s/%s", group, version["name"])
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyTimeout, true, func(context.Context) (bool, error) {
			list, err := discoverer.ServerResourcesForGroupVersion(groupVersion)
			served := err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == plural })
			return served && documented(discoverer, groupVersion, plural), nil
		})
		if err != nil {
			return fmt.Errorf("%s is not served: %w", crd.GetName(), err)
		}
	}
	return nil
}

// documented says whether the OpenAPI documents know the resource: they follow later than discovery, and `kubectl
// explain` reads them.
func documented(discoverer discovery.DiscoveryInterface, groupVersion, plural string) bool {
	paths, err := discoverer.OpenAPIV3().Paths()
	if err != nil || paths["apis/"+groupVersion] == nil {
		return false
	}
	schema, err := paths["apis/"+groupVersion].Schema("application/json")
	return err == nil && bytes.Contains(schema, []byte("/"+plural+"/{name}"))
}
