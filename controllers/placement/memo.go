package placement

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// memo keeps something for placements by their names. The zero value is ready, and may be used by several at once.
type memo[T any] struct {
	mu sync.Mutex
	of map[types.NamespacedName]T
}

// get returns what is kept for a placement; the zero value where nothing is.
func (m *memo[T]) get(key types.NamespacedName) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[key]
}

func (m *memo[T]) set(key types.NamespacedName, to T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]T{}
	}
	m.of[key] = to
}

func (m *memo[T]) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, key)
}

func keyOf(placement *v1alpha1.ModelPlacement) types.NamespacedName {
	return types.NamespacedName{Namespace: placement.Namespace, Name: placement.Name}
}
