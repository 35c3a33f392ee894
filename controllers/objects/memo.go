package objects

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Memo keeps something for objects by their names. The zero value is ready, and may be used by several at once.
type Memo[T any] struct {
	mu sync.Mutex
	of map[types.NamespacedName]T
}

// Get returns what is kept for an object; the zero value where nothing is.
func (m *Memo[T]) Get(key types.NamespacedName) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[key]
}

// Set keeps something for an object, in place of what was kept.
func (m *Memo[T]) Set(key types.NamespacedName, to T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]T{}
	}
	m.of[key] = to
}

// Forget keeps nothing for an object any longer.
func (m *Memo[T]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, key)
}
