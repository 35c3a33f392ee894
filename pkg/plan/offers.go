package plan

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/fleet"
)

// pooled is the pools of one set of matching devices, with its census.
type pooled struct {
	pools  []*pool
	census census
}

// collect returns the pools of a format at a topology level, made once for each set of classes that suit.
func (t *task) collect(s step, level string) pooled {
	r := poolRequest{requirements: t.require, step: s, capacity: t.offer, level: level, any: t.asked.tensor > 0, keep: t.keep}
	key := t.suited(s) + level
	p, ok := t.pooled[key]
	if !ok {
		p.pools, p.census = poolsOf(t.cluster, &r)
		t.pooled[key] = p
	}
	return p
}

// suited returns a key of the set of classes that suit a format.
func (t *task) suited(s step) string {
	var key strings.Builder
	for i := range t.classes {
		if t.cluster.Listed(int32(i)) == 0 {
			continue
		}
		mark := byte('-')
		if s.suits(t.cluster.Class(int32(i))) {
			mark = '+'
		}
		key.WriteByte(mark)
	}
	return key.String()
}

// lanesOf returns the lanes of a pool, made once.
func (t *task) lanesOf(p *pool) []*lane {
	lanes, ok := t.laned[p]
	if !ok {
		lanes = lanesOf(t.cluster, p)
		t.laned[p] = lanes
	}
	return lanes
}

// refusedClasses returns, by class, why no device of it may hold weights in a format; empty where one may.
func (t *task) refusedClasses(s step) []fleet.Refusal {
	r := poolRequest{requirements: t.require, step: s}
	return r.judgeClasses(t.cluster)
}

// refusedNodes says of each node whether nothing on it matches.
func (t *task) refusedNodes() verdicts {
	r := poolRequest{requirements: t.require}
	return r.judgeNodes(t.cluster)
}

// zoneForm stands for zones whose parts are of the same kinds, by the parts of one of them.
type zoneForm struct{ parts []int32 }

// zoneForms returns the forms of a pool's zones, made once.
func (t *task) zoneForms(p *pool) []zoneForm {
	forms, ok := t.zoned[p]
	if ok {
		return forms
	}
	seen := map[string]bool{}
	var key []byte
	for i := range p.zones {
		kinds := make([]int32, len(p.zones[i].parts))
		for j, at := range p.zones[i].parts {
			kinds[j] = p.parts[at].kind
		}
		slices.Sort(kinds)
		key = key[:0]
		for _, k := range kinds {
			key = binary.BigEndian.AppendUint32(key, uint32(k))
		}
		if len(kinds) > 0 && !seen[string(key)] {
			seen[string(key)] = true
			forms = append(forms, zoneForm{p.zones[i].parts})
		}
	}
	t.zoned[p] = forms
	return forms
}

// groupCaps returns the capacities of the largest tensor groups of a size, falling, up to a number of them.
func (p *pool) groupCaps(tensor, most int) []int64 {
	type run struct {
		capacity int64
		count    int
	}
	runs := make([]run, 0, 16)
	for _, parts := range p.kinds {
		part := &p.parts[parts[0]]
		if part.limit < tensor {
			continue
		}
		for last := tensor - 1; last < len(part.caps); last += tensor {
			runs = append(runs, run{part.caps[last], len(parts)})
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(b.capacity, a.capacity) })
	all := 0
	for _, r := range runs {
		all += r.count
	}
	caps := make([]int64, 0, min(most, all))
	for _, r := range runs {
		for range min(r.count, most-len(caps)) {
			caps = append(caps, r.capacity)
		}
	}
	return caps
}
