package collective

// ring is a collective round a ring of two members or more. Member r sends to r+1 and receives from r-1. In step t it sends chunk
// r-1-t and receives chunk r-2-t (modulo the members): in the steps before members-1 partial results go round, until member r has
// the whole of chunk r; in those after, results go round.
type ring struct {
	reduction *Reduction // nil where nothing is reduced
	size      int        // bytes of an element of the result
	elements  int

	first, last int // steps

	own    []byte // this member's elements as they travel
	work   []byte // partial results; may be own
	result []byte // may be work where elements travel as they are or sizes agree
	base   int    // the result's first element

	// While it runs. Tokens cost no memory, so their channels never fill.
	k                *call
	members, rank    int
	segment          int           // elements
	received, passed chan struct{} // a token for each segment that was received, or sent
}

func (k *call) ring(r *ring) error {
	r.k, r.members, r.rank = k, len(k.group.ranks), k.group.rank
	size := r.size
	if r.reduction != nil {
		size = max(size, r.reduction.WireSize)
	}
	r.segment = segmentBytes / size
	tokens := (r.last - r.first + 1) * (r.elements/r.members/r.segment + 2)
	r.received, r.passed = make(chan struct{}, tokens), make(chan struct{}, tokens)
	return both(r.send, r.receive)
}

// chunkOf returns the chunk that a step sends. A step receives the chunk that the next step sends.
func (r *ring) chunkOf(step int) span {
	number := (r.rank - 1 - step) % r.members
	if number < 0 {
		number += r.members
	}
	return chunk(r.elements, r.members, number)
}

// results says whether a step passes results on.
func (r *ring) results(step int) bool { return step >= r.members-1 }

func (r *ring) resultOf(s span) []byte {
	return r.result[(s.from-r.base)*r.size : (s.to-r.base)*r.size]
}

func (r *ring) send() error {
	right := (r.rank + 1) % r.members
	for step := r.first; step <= r.last; step++ {
		whole := r.chunkOf(step)
		for i, s := range segments(whole.to-whole.from, r.segment) {
			if step > r.first {
				if err := r.k.group.c.await(r.received); err != nil {
					return err
				}
			}
			if err := r.k.sendSegment(right, step, i, r.outgoing(step, span{whole.from + s.from, whole.from + s.to})); err != nil {
				return err
			}
			r.passed <- struct{}{}
		}
	}
	return nil
}

func (r *ring) outgoing(step int, s span) []byte {
	switch {
	case r.results(step):
		return r.resultOf(s)
	case step == r.first:
		return s.bytes(r.own, r.reduction.WireSize)
	default:
		return s.bytes(r.work, r.reduction.WireSize)
	}
}

func (r *ring) receive() error {
	left := (r.rank + r.members - 1) % r.members
	for step := r.first; step <= r.last; step++ {
		whole := r.chunkOf(step + 1)
		for i, s := range segments(whole.to-whole.from, r.segment) {
			if err := r.receiveSegment(left, step, i, span{whole.from + s.from, whole.from + s.to}); err != nil {
				return err
			}
			r.received <- struct{}{}
		}
	}
	return nil
}

func (r *ring) receiveSegment(left, step, number int, s span) error {
	if !r.results(step) {
		return r.reduceSegment(left, step, number, s)
	}
	if r.first == 0 {
		// A result takes the place of the partial one that this member sent round: not before that is read.
		if err := r.k.group.c.await(r.passed); err != nil {
			return err
		}
	}
	return r.k.receiveSegment(left, step, number, r.resultOf(s))
}

// reduceSegment combines a partial result that arrives with this member's elements. The last member's combination is the result.
func (r *ring) reduceSegment(left, step, number int, s span) error {
	wire := r.reduction.WireSize
	own, partial := s.bytes(r.own, wire), s.bytes(r.work, wire)
	last := r.results(step + 1)
	if last && r.reduction.decode == nil {
		partial = r.resultOf(s)
	}
	err := r.k.consumeSegment(left, step, number, len(own), func(at int, piece []byte) {
		end := at + len(piece)
		r.reduction.combine(partial[at:end], own[at:end], piece)
		if last && r.reduction.decode != nil {
			elements := span{at / wire, end / wire}
			r.reduction.decode(elements.bytes(r.resultOf(s), r.size), partial[at:end], r.members)
		}
	})
	return err
}
