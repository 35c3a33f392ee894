// Package calls counts what a client asks of an API server, for tests and measurements of how much that is.
package calls

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/internal/apicall"
)

// Calls counts requests by verb and resource: "list pods", "apply devicemeshes/status". A patch by server-side apply is called apply.
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

// Of are the calls of some verbs.
func (c Calls) Of(verbs ...string) Calls {
	found := Calls{}
	for name, n := range c {
		if verb, _, _ := strings.Cut(name, " "); slices.Contains(verbs, verb) {
			found[name] = n
		}
	}
	return found
}

// Writes are the calls that are to change something.
func (c Calls) Writes() Calls { return c.Of("create", "update", "patch", "apply", "delete") }

// Sum is all of them together.
func (c Calls) Sum() Count {
	var sum Count
	for _, n := range c {
		sum.Requests, sum.Bytes = sum.Requests+n.Requests, sum.Bytes+n.Bytes
	}
	return sum
}

// Names are the names of calls in order.
func (c Calls) Names() []string { return slices.Sorted(maps.Keys(c)) }

// Counter counts the requests of the transports that Wrap makes. The zero value is ready.
type Counter struct {
	mu    sync.Mutex
	calls Calls
}

// Wrap makes a transport that counts requests and the bytes of their answers, but for trials that change nothing.
func (c *Counter) Wrap(next http.RoundTripper) http.RoundTripper { return &counting{c, next} }

// Calls are those that were counted until now.
func (c *Counter) Calls() Calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

func (c *Counter) add(name string, requests, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = Calls{}
	}
	n := c.calls[name]
	c.calls[name] = Count{n.Requests + requests, n.Bytes + bytes}
}

type counting struct {
	*Counter
	next http.RoundTripper
}

// RoundTrip counts a request and the bytes of its answer.
func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Has("dryRun") {
		return c.next.RoundTrip(request)
	}
	verb, resource := apicall.Of(request)
	if types.PatchType(request.Header.Get("Content-Type")) == types.ApplyYAMLPatchType {
		verb = "apply"
	}
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
