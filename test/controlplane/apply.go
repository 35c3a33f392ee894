package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

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
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
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
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, object.GetName(), err)
		}
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			to := object.GetNamespace()
			if to == "" {
				to = namespace
			}
			resource = client.Resource(mapping.Resource).Namespace(to)
		}
		options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
		if _, err := resource.Apply(ctx, object.GetName(), object, options); err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, object.GetName(), err)
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
