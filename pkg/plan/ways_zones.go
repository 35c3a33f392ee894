package plan

import (
	"encoding/binary"
	"slices"
)

// zoneForm is zones that have parts of the same kinds, by one of them.
type zoneForm struct{ parts []int32 }

// zoneForms are the forms of a pool's zones, found once.
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

// zonesMayHold says whether any zone may hold an instance: whether the runs of layers that its groups have room for are
// enough. It is true where there are no zones.
func (l *load) zonesMayHold(c *candidate) bool {
	p := c.lane.pool
	if len(p.zones) == 0 {
		return true
	}
	return slices.ContainsFunc(l.task.zoneForms(p), func(z zoneForm) bool { return l.zoneMayHold(c, z) })
}

func (l *load) zoneMayHold(c *candidate, z zoneForm) bool {
	p, group := c.lane.pool, c.group()
	var caps []int64
	for _, at := range z.parts {
		part := &p.parts[at]
		if part.limit < group {
			continue
		}
		for last := group - 1; last < len(part.caps); last += group {
			caps = append(caps, part.caps[last])
		}
	}
	if c.stages == 1 {
		return slices.ContainsFunc(caps, func(offer int64) bool { return c.prints.bytes(0, c.prints.layers) <= offer })
	}
	if len(caps) < c.stages {
		return false
	}
	slices.SortFunc(caps, func(a, b int64) int { return int(min(1, max(-1, b-a))) })
	return c.prints.hasRoom(caps[:c.stages])
}

// hasRoom is a necessary condition for a split: the runs of layers that devices have room for are enough.
func (f *footprint) hasRoom(caps []int64) bool {
	room, last, longest := 0, int64(-1), 0
	for _, offer := range caps {
		if offer != last {
			last, longest = offer, f.longest(offer)
		}
		room += longest
	}
	return room >= f.layers
}

// longest is how many consecutive layers fit a device of some offer at most.
func (f *footprint) longest(offer int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.runs[offer]; ok {
		return known
	}
	longest := 0
	for first, end := 0, 0; end < f.layers; {
		if f.bytes(first, end+1) <= offer {
			end++
			longest = max(longest, end-first)
			continue
		}
		first++
		end = max(first, end)
	}
	if f.runs == nil {
		f.runs = map[int64]int{}
	}
	f.runs[offer] = longest
	return longest
}
