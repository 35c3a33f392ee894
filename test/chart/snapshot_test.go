package chart

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// objects are all that a cluster has, by their names.
type objects map[string]*unstructured.Unstructured

// unlisted are kinds that the API server and its controllers keep by themselves, or that expire.
var unlisted = []string{"APIService", "ComponentStatus", "Endpoints", "EndpointSlice", "Event", "FlowSchema", "PriorityLevelConfiguration"}

// snapshot lists every object of the cluster but objects of unlisted kinds and the Leases of the control plane's parts.
func snapshot(ctx context.Context, t *testing.T) objects {
	t.Helper()
	all, err := list(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func list(ctx context.Context) (objects, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
	if err != nil {
		return nil, err
	}
	groups, err := discoverer.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		return nil, err
	}
	all := objects{}
	for _, group := range groups {
		groupVersion, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for k := range group.APIResources {
			resource := &group.APIResources[k]
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(unlisted, resource.Kind) {
				continue
			}
			found, err := client.Resource(groupVersion.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) { // a kind that went with its definition after discovery
				continue
			}
			if err != nil {
				return nil, err
			}
			for k := range found.Items {
				if object := &found.Items[k]; resource.Kind != "Lease" || object.GetNamespace() != metav1.NamespaceSystem {
					all[key(object)] = object
				}
			}
		}
	}
	return all, nil
}

// keys are the names of the objects.
func (o objects) keys() []string { return slices.Sorted(maps.Keys(o)) }

// without are the objects that others do not have.
func (o objects) without(others objects) objects {
	rest := maps.Clone(o)
	maps.DeleteFunc(rest, func(key string, _ *unstructured.Unstructured) bool { return others[key] != nil })
	return rest
}

// ofChart are the objects that are neither Helm's record nor made by controllers from others.
func (o objects) ofChart() objects {
	rest := maps.Clone(o)
	maps.DeleteFunc(rest, func(_ string, object *unstructured.Unstructured) bool {
		return metav1.GetControllerOf(object) != nil || strings.HasPrefix(object.GetName(), "sh.helm.release.") ||
			object.GetKind() == "ConfigMap" && object.GetName() == "kube-root-ca.crt" ||
			object.GetKind() == "ServiceAccount" && object.GetName() == "default" ||
			object.GetKind() == "IPAddress" // of a Service, by the API server
	})
	return rest
}

// contents are the objects without what the API server and controllers write.
func (o objects) contents() map[string]any {
	byKey := map[string]any{}
	for key, object := range o {
		object = object.DeepCopy()
		for _, field := range []string{"resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		annotations := object.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool {
			return strings.HasPrefix(key, "deployment.kubernetes.io/") || strings.HasPrefix(key, "deprecated.daemonset")
		})
		object.SetAnnotations(annotations)
		delete(object.Object, "status")
		byKey[key] = object.Object
	}
	return byKey
}

// patience is far above what controllers need, for machines that are busy.
const patience = 4 * time.Minute

// awaitKeys waits until the cluster has exactly the objects of before and the wanted ones.
func awaitKeys(t *testing.T, before objects, want ...string) {
	t.Helper()
	slices.Sort(want)
	var diff string
	err := wait.PollUntilContextTimeout(t.Context(), 500*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := list(ctx)
		if err != nil {
			return false, nil // discovery lags behind definitions that come and go
		}
		diff = cmp.Diff(want, now.without(before).keys(), cmpopts.EquateEmpty()) + cmp.Diff([]string{}, before.without(now).keys(), cmpopts.EquateEmpty())
		return diff == "", nil
	})
	if err != nil {
		t.Fatalf("what is left (+) is not what should be (-): %v\n%s", err, diff)
	}
}
