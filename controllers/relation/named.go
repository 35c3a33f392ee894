package relation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// placementField names the index of objects by the placement that their label names.
const placementField = "metadata.labels." + v1alpha1.LabelPlacement

// Named reads from a cache. It finds what has the label of one placement by an index, for the kinds that are indexed: the cache alone would look at
// every object of the namespace, at each list.
type Named struct {
	// Reader is the cache.
	client.Reader
	// Scheme knows the kinds.
	Scheme *runtime.Scheme

	indexed map[schema.GroupVersionKind]bool
}

// Index has kinds indexed. It must be called before the cache is started.
func (n *Named) Index(ctx context.Context, indexer client.FieldIndexer, kinds ...client.Object) error {
	for _, object := range kinds {
		kind, err := apiutil.GVKForObject(object, n.Scheme)
		if err == nil {
			err = indexer.IndexField(ctx, object, placementField, placementsOf)
		}
		if err != nil {
			return fmt.Errorf("index %T by placement: %w", object, err)
		}
		if n.indexed == nil {
			n.indexed = map[schema.GroupVersionKind]bool{}
		}
		n.indexed[kind] = true
	}
	return nil
}

func placementsOf(object client.Object) []string {
	if name := object.GetLabels()[v1alpha1.LabelPlacement]; name != "" {
		return []string{name}
	}
	return nil
}

// List lists as the cache does.
func (n *Named) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var all client.ListOptions
	all.ApplyOptions(options)
	if all.LabelSelector == nil || all.FieldSelector != nil {
		return n.Reader.List(ctx, list, options...)
	}
	kind, err := apiutil.GVKForObject(list, n.Scheme)
	if err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	if name, one := all.LabelSelector.RequiresExactMatch(v1alpha1.LabelPlacement); one && n.indexed[kind] {
		options = append(slices.Clip(options), client.MatchingFields{placementField: name})
	}
	return n.Reader.List(ctx, list, options...)
}
