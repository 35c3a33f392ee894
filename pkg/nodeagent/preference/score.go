package preference

import "cmp"

// score says how good a set is among those with the same slowest rate; the smaller is better. All but left grow with
// every device that is added.
type score struct {
	// places is the number of NUMA nodes, of host bridges and of switches.
	places [scales]int
	// sum of the distances of all pairs.
	sum int
	// left is what the other devices can still give, as Topology.left counts it: more is better.
	left int
}

// compare compares all but what is left.
func (s score) compare(other score) int {
	for scale, count := range s.places {
		if c := cmp.Compare(count, other.places[scale]); c != 0 {
			return c
		}
	}
	return cmp.Compare(s.sum, other.sum)
}

// choice is a set with its score.
type choice struct {
	score

	members set
}

// better says whether a choice is to be preferred to another. Of equal ones, the one with the lesser names is.
func (c *choice) better(than *choice) bool {
	order := cmp.Or(c.compare(than.score), cmp.Compare(than.left, c.left))
	return order < 0 || order == 0 && c.members.before(than.members)
}

// partial is a set that grows and shrinks at its end, with its score but for what is left.
type partial struct {
	score

	topology *Topology
	members  []int
	// visitors is the number of members in each place.
	visitors [scales][]int
	sums     []int // before each member
}

func (t *Topology) newPartial() *partial {
	p := &partial{topology: t}
	for scale := range p.visitors {
		p.visitors[scale] = make([]int, len(t.ids))
	}
	return p
}

// cost is the sum of the distances from a device to all members.
func (p *partial) cost(device int) int {
	sum, row := 0, p.topology.distances[device*len(p.topology.ids):]
	for _, m := range p.members {
		sum += int(row[m])
	}
	return sum
}

// with is the score after adding a device.
func (p *partial) with(device int) score { return p.at(device, p.cost(device)) }

// at is the score after adding a device of which the cost is known.
func (p *partial) at(device, cost int) score {
	s := p.score
	for scale, place := range p.topology.places {
		if p.visitors[scale][place[device]] == 0 {
			s.places[scale]++
		}
	}
	s.sum += cost
	return s
}

func (p *partial) push(device int) {
	p.sums = append(p.sums, p.sum)
	p.score = p.with(device)
	for scale, place := range p.topology.places {
		p.visitors[scale][place[device]]++
	}
	p.members = append(p.members, device)
}

func (p *partial) pop() {
	last := len(p.members) - 1
	device := p.members[last]
	for scale, place := range p.topology.places {
		p.visitors[scale][place[device]]--
		if p.visitors[scale][place[device]] == 0 {
			p.places[scale]--
		}
	}
	p.sum, p.sums, p.members = p.sums[last], p.sums[:last], p.members[:last]
}

// reset removes all members beyond the first so many.
func (p *partial) reset(keep int) {
	for len(p.members) > keep {
		p.pop()
	}
}
