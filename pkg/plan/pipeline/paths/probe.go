package paths

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// probe looks for a layout that carries a target rate, from the first layer to the last. At each layer boundary where
// spans end it chooses the set of spans that start there; nothing useful starts elsewhere, since nothing arrives there.
// Branches are cut by conditions that every layout of the target rate meets, so an empty search is a proof.
type probe struct {
	fleet   *Fleet
	binding bool
	target  float64
	classes []class
	shares  []float64 // what a device of each class adds at most
	options []option
	used    []int
	placed  []placed
	cover   []float64 // by layer, the flow that placed spans carry at most, but not more than the target
	deficit float64   // what they leave to the devices that are not placed yet, over all layers
	saved   []float64 // covers before the spans that are placed, to restore them without rounding
	spans   []Span
	layout  []Span          // what was found
	refuted map[string]bool // boundaries and devices left from which the target is not carried on
	graph   flowGraph       // its vertices are the boundaries, where links are no bound
	network network         // of the devices, where they are
	steps   int
	limit   int
}

// option is a span of so many layers on a device of a class.
type option struct {
	class, layers int
	rate          float64
	loss          float64 // of the share of the class
}

type placed struct {
	device, start, end int
	rate               float64
}

// outcome is what a probe, or a branch of it, came to.
type outcome int

const (
	none    outcome = iota // no layout carries the target
	found                  // one does: the probe's layout
	stopped                // the limit was reached
)

func newProbe(f *Fleet, classes []class, binding bool, target float64, limit int) *probe {
	p := &probe{
		fleet: f, binding: binding, target: target, classes: classes, limit: limit,
		shares: make([]float64, len(classes)), used: make([]int, len(classes)),
		cover: make([]float64, f.Layers), spans: make([]Span, len(f.Devices)),
		deficit: target * float64(f.Layers), refuted: map[string]bool{},
	}
	for i, c := range classes {
		p.shares[i] = share(c.rates, target)
		for k, rate := range c.rates {
			if rate > 0 && k < f.Layers {
				p.options = append(p.options, option{
					class: i, layers: k + 1, rate: min(rate, target),
					loss: p.shares[i] - float64(k+1)*min(rate, target),
				})
			}
		}
	}
	slices.SortStableFunc(p.options, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.loss, b.loss), cmp.Compare(b.rate, a.rate), cmp.Compare(b.layers, a.layers))
	})
	return p
}

// tolerance is the relative error that sums of a few thousand rates may have.
const tolerance = 1e-12

// hopeful says whether the devices that are left can cover what is left.
func (p *probe) hopeful() bool {
	left := 0.0
	for i, c := range p.classes {
		left += p.shares[i] * float64(len(c.devices)-p.used[i])
	}
	return p.deficit-left <= tolerance*p.target*float64(p.fleet.Layers)
}

// run searches the whole space.
func (p *probe) run() outcome {
	if !p.hopeful() {
		return none
	}
	return p.choose(0, 0, p.target, false)
}

// choose adds spans that start at a boundary which so much reaches, in the order of the options so that no set comes
// twice, and goes on to the next boundary with each set that carries the target.
func (p *probe) choose(at, first int, arriving float64, started bool) outcome {
	if started && p.cover[at] >= p.target*(1-tolerance) {
		if result := p.advance(at); result != none {
			return result
		}
	}
	for i := first; i < len(p.options); i++ {
		p.steps++
		if p.steps > p.limit {
			return stopped
		}
		o := &p.options[i]
		if p.used[o.class] == len(p.classes[o.class].devices) || at+o.layers > p.fleet.Layers {
			continue
		}
		p.place(o, at, min(o.rate, arriving))
		result := none
		if p.hopeful() {
			result = p.choose(at, i, arriving, true)
		}
		p.unplace(o)
		if result != none {
			return result
		}
	}
	return none
}

func (p *probe) place(o *option, at int, rate float64) {
	device := p.classes[o.class].devices[p.used[o.class]]
	p.used[o.class]++
	p.placed = append(p.placed, placed{device: device, start: at, end: at + o.layers, rate: rate})
	p.spans[device] = Span{at, at + o.layers}
	p.saved = append(p.saved, p.deficit)
	for l := at; l < at+o.layers; l++ {
		before := p.cover[l]
		p.saved = append(p.saved, before)
		p.cover[l] = min(p.target, before+rate)
		p.deficit -= p.cover[l] - before
	}
}

func (p *probe) unplace(o *option) {
	last := p.placed[len(p.placed)-1]
	p.placed = p.placed[:len(p.placed)-1]
	p.used[o.class]--
	p.spans[last.device] = Span{}
	from := len(p.saved) - o.layers
	copy(p.cover[last.start:last.end], p.saved[from:])
	p.deficit = p.saved[from-1]
	p.saved = p.saved[:from-1]
}

// advance goes on to the next boundary at which spans end, if the target reaches it.
func (p *probe) advance(at int) outcome {
	next := p.fleet.Layers
	for _, s := range p.placed {
		if s.end > at {
			next = min(next, s.end)
		}
	}
	if !p.carries(at) {
		return none
	}
	if next == p.fleet.Layers {
		p.layout = slices.Clone(p.spans)
		return found
	}
	arriving, across := 0.0, false
	for _, s := range p.placed {
		if s.end == next {
			arriving += s.rate
		}
		across = across || s.end > next
	}
	if across || p.binding {
		return p.choose(next, 0, min(arriving, p.target), false)
	}
	// All of the target arrives at one point, so what follows depends on nothing but the devices that are left.
	key := p.key(next)
	if p.refuted[key] {
		return none
	}
	result := p.choose(next, 0, p.target, false)
	if result == none && len(p.refuted) < maxRefuted {
		p.refuted[key] = true
	}
	return result
}

// maxRefuted bounds what a probe remembers.
const maxRefuted = 1 << 16

// key names a boundary and the devices that are left there.
func (p *probe) key(at int) string {
	key := binary.AppendUvarint(nil, uint64(at))
	for _, n := range p.used {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return string(key)
}

// carries says whether the target flows from the first layer into the spans that reach beyond a boundary.
func (p *probe) carries(at int) bool {
	if p.binding {
		p.network.connect(p.fleet, p.spans, at)
		return p.network.graph.maximum(receiver) >= p.target*(1-tolerance)
	}
	p.graph.reset(p.fleet.Layers + 1)
	for _, s := range p.placed {
		end := s.end
		if end > at {
			end = p.fleet.Layers
		}
		p.graph.connect(s.start, end, min(p.fleet.Devices[s.device].Rates[s.end-s.start-1], p.target))
	}
	return p.graph.maximum(p.fleet.Layers) >= p.target*(1-tolerance)
}
