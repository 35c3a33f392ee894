package scale

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/rankwright/rankwright/internal/apicall"
)

// Calls counts requests by verb and resource: "list pods", "patch deviceMeshes/status".
type Calls map[string]Count

// Count is how many requests there were, and the bytes of their answers.
type Count struct{ Requests, Bytes int64 }

// Since returns what was counted after an earlier moment.
func (c Calls) Since(earlier Calls) Calls {
	more := Calls{}
	for name, n := range c {
		if n.Requests -= earlier[name].Requests; n.Requests > 0 {
			n.Bytes -= earlier[name].Bytes
			more[name] = n
		}
	}
	return more
}

// Of sums up the calls whose names begin with one of some words.
func (c Calls) Of(verbs ...string) Count {
	var sum Count
	for name, n := range c {
		if verb, _, _ := strings.Cut(name, " "); slices.Contains(verbs, verb) {
			sum.Requests, sum.Bytes = sum.Requests+n.Requests, sum.Bytes+n.Bytes
		}
	}
	return sum
}

// Writes is how many requests changed something, apart from events.
func (c Calls) Writes() int64 {
	return c.Of("create", "update", "patch", "delete").Requests - c["create events"].Requests - c["patch events"].Requests
}

// all is how many requests there were.
func (c Calls) all() int64 {
	var sum int64
	for _, n := range c {
		sum += n.Requests
	}
	return sum
}

// Names are the names of calls in order.
func (c Calls) Names() []string { return slices.Sorted(maps.Keys(c)) }

// counter stands before every request of the operator.
type counter struct {
	next http.RoundTripper

	mu    sync.Mutex
	calls Calls
}

func (c *counter) snapshot() Calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

func (c *counter) add(name string, requests, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.calls[name]
	c.calls[name] = Count{n.Requests + requests, n.Bytes + bytes}
}

// RoundTrip counts a request and the bytes of its answer.
func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	verb, resource := apicall.Of(request)
	name := verb + " " + resource
	c.add(name, 1, 0)
	answer, err := c.next.RoundTrip(request)
	if err == nil {
		answer.Body = &counted{answer.Body, func(n int) { c.add(name, 0, int64(n)) }}
	}
	return answer, err
}

type counted struct {
	io.ReadCloser
	add func(int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.add(n)
	return n, err
}
