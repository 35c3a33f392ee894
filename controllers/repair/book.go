package repair

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Name is the name of the ConfigMap that has a record for each node with a repair under way.
const Name = "rankwright-repairs"

// Book keeps the records. Each change rests on the ConfigMap as it was read, so that of two operators that both take themselves for the
// leader one fails: the cluster's budget and one repair a node hold for both.
type Book struct {
	// Reader and Writer ask the API server.
	Reader client.Reader
	Writer client.Writer
	// Namespace is the namespace of the ConfigMap.
	Namespace string

	mu sync.Mutex
	// nodes are those with records as last read.
	nodes map[string]bool
}

// has says whether a node had a record when the book was last read.
func (b *Book) has(node string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nodes[node]
}

// page is the ConfigMap as it was read.
type page struct{ *corev1.ConfigMap }

func (b *Book) read(ctx context.Context) (page, error) {
	p := page{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: Name}}}
	if err := client.IgnoreNotFound(b.Reader.Get(ctx, client.ObjectKeyFromObject(p.ConfigMap), p.ConfigMap)); err != nil {
		return page{}, fmt.Errorf("read ConfigMap %s/%s: %w", b.Namespace, Name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes = make(map[string]bool, len(p.Data))
	for node := range p.Data {
		b.nodes[node] = true
	}
	return p, nil
}

// of returns the record of a node; nil where it has none.
func (p page) of(node string) (*Record, error) {
	text, recorded := p.Data[node]
	if !recorded {
		return nil, nil
	}
	return decode(node, text)
}

// write records a node's repair, or removes the record, on a page as it was read.
func (b *Book) write(ctx context.Context, p page, node string, r *Record) error {
	if p.Data == nil {
		p.Data = map[string]string{}
	}
	delete(p.Data, node)
	if r != nil {
		p.Data[node] = r.encode()
	}
	var err error
	if p.ResourceVersion == "" {
		err = b.Writer.Create(ctx, p.ConfigMap)
	} else {
		err = b.Writer.Update(ctx, p.ConfigMap)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", b.Namespace, Name, err)
	}
	return nil
}
