package snapshot

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stored is an informer that shows its objects.
type stored interface{ GetStore() toolscache.Store }

// Informed returns all objects of a kind, in no order. Where the reader has informers these are the informer's own objects, which are read and never
// written: a list would copy each of them. Of other readers they are listed.
func Informed[T client.Object](ctx context.Context, reader client.Reader, kind T, list client.ObjectList, options ...client.ListOption) ([]T, error) {
	if informers, has := reader.(cache.Informers); has {
		informer, err := informers.GetInformer(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("informer of %T: %w", kind, err)
		}
		if shows, is := informer.(stored); is {
			objects := shows.GetStore().List()
			all := make([]T, 0, len(objects))
			for _, object := range objects {
				if one, is := object.(T); is {
					all = append(all, one)
				}
			}
			return all, nil
		}
	}
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list %T: %w", list, err)
	}
	var all []T
	err := meta.EachListItem(list, func(object runtime.Object) error {
		if one, is := object.(T); is {
			all = append(all, one)
		}
		return nil
	})
	return all, err
}
