package page

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/rankwright/rankwright/pkg/holding"
)

// Parts are what the page shows at one moment, each as JSON under a key: `fleet`, which is missing while nothing is known, `outage` where there is one, `layout/DIGEST`, `node/NAME` and `placement/NAMESPACE/NAME`.
type Parts map[string]json.RawMessage

// Source is where the page's facts are from.
type Source struct {
	// Kind is Cluster, Files or Simulated.
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Kinds of sources.
const (
	Cluster   = "Cluster"
	Files     = "Files"
	Simulated = "Simulated"
)

// Outage is that what is shown is not kept up to date.
type Outage struct {
	// Since is when it was up to date last, by the clock of this machine.
	Since time.Time `json:"since"`
	// Why is a sentence without its full stop.
	Why string `json:"why"`
	// Awaited are the kinds of which nothing is known yet, so that nothing is shown; empty where what is shown is from before.
	Awaited string `json:"awaited,omitempty"`
}

// fleetPart is the sums of everything, in the words of `top -o json`.
type fleetPart struct {
	Source       Source           `json:"source"`
	Nodes        int              `json:"nodes"`
	Closed       int              `json:"closedNodes"`
	Totals       holding.Totals   `json:"totals"`
	Products     []holding.Group  `json:"products"`
	NotPermitted []holding.Unseen `json:"notPermitted,omitempty"`
}

func fleetOf(source Source, f *holding.Fleet) *fleetPart {
	p := &fleetPart{
		Source: source, Nodes: len(f.Nodes), Totals: holding.Sum(f.Devices), NotPermitted: f.Unseen,
		Products: holding.Grouped(f.Devices, (*holding.Device).ProductName),
	}
	for i := range f.Nodes {
		if f.Nodes[i].Closed != "" {
			p.Closed++
		}
	}
	return p
}

// put adds a part.
func (p Parts) put(key string, part any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(part); err != nil {
		return err
	}
	p[key] = bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return nil
}

// share takes over the parts of before that are the same, so that they are in memory once.
func (p Parts) share(before Parts) {
	for key, part := range p {
		if was, there := before[key]; there && bytes.Equal(was, part) {
			p[key] = was
		}
	}
}

// Change is what differs between two moments.
type Change struct {
	// Whole says that nothing was known before.
	Whole bool `json:"whole,omitempty"`
	// Version numbers the moments of one run.
	Version int64 `json:"version"`
	// Set are the parts that are new or other than before, Gone the keys of those that are no more.
	Set  Parts    `json:"set,omitempty"`
	Gone []string `json:"gone,omitempty"`
}

// Since is what differs from the parts of before; nil is nothing known.
func (p Parts) Since(before Parts) Change {
	c := Change{Whole: before == nil, Set: Parts{}}
	for key, part := range p {
		if was, there := before[key]; !there || !bytes.Equal(was, part) {
			c.Set[key] = part
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, there := p[key]; !there {
			c.Gone = append(c.Gone, key)
		}
	}
	return c
}

// empty says whether nothing changed.
func (c *Change) empty() bool { return !c.Whole && len(c.Set)+len(c.Gone) == 0 }
