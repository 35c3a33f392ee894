package collective

// The trees are binomial. Member v (counted from the root) has the children v+1, v+2, v+4, ... below its lowest set bit,
// and a subtree of consecutive members.

// Steps of trees, which keep frames of different directions apart.
const (
	stepUp = iota
	stepDown
)

// children calls visit for the children of a member and their subtrees' ends, the smallest first, until one fails.
func children(member, members int, visit func(child, end int) error) error {
	for bit := 1; member&bit == 0 && member+bit < members; bit <<= 1 {
		if err := visit(member+bit, min(member+2*bit, members)); err != nil {
			return err
		}
	}
	return nil
}

// parent returns the parent of a member, which must not be the root.
func parent(member int) int { return member & (member - 1) }

// treeReduce combines all members' elements in the wire buffer of member 0.
func (k *call) treeReduce(r *Reduction, wire []byte) error {
	me := k.group.rank
	err := children(me, len(k.group.ranks), func(child, _ int) error {
		return k.consume(child, stepUp, len(wire), func(at int, piece []byte) {
			own := wire[at : at+len(piece)]
			r.combine(own, own, piece)
		})
	})
	if err == nil && me > 0 {
		err = k.send(parent(me), stepUp, wire)
	}
	return err
}

// treeAllReduce reduces to member 0 and broadcasts the result.
func (k *call) treeAllReduce(r *Reduction, result, wire []byte) error {
	if err := k.treeReduce(r, wire); err != nil {
		return err
	}
	if k.group.rank == 0 && r.decode != nil {
		r.decode(result, wire, len(k.group.ranks))
	}
	return k.treeBroadcast(result, 0)
}

// treeReduceScatter reduces to member 0, which gives each subtree what it needs: the results from its first member on.
func (k *call) treeReduceScatter(r *Reduction, result, wire []byte) error {
	if err := k.treeReduce(r, wire); err != nil {
		return err
	}
	members, me := len(k.group.ranks), k.group.rank
	part := len(wire) / members
	if me > 0 {
		if err := k.receive(parent(me), stepDown, wire[me*part:subtreeEnd(me, members)*part]); err != nil {
			return err
		}
	}
	err := children(me, members, func(child, end int) error {
		return k.send(child, stepDown, wire[child*part:end*part])
	})
	r.Decode(result, wire[me*part:(me+1)*part], members)
	return err
}

// subtreeEnd returns the end of the members below a member in the tree: they follow it, as many as its lowest bit says.
func subtreeEnd(member, members int) int {
	if member == 0 {
		return members
	}
	return min(member+member&-member, members)
}

// treeBroadcast gives all members the root's buffer.
func (k *call) treeBroadcast(buffer []byte, root int) error {
	members := len(k.group.ranks)
	me := (k.group.rank - root + members) % members
	if me > 0 {
		if err := k.receive((parent(me)+root)%members, stepDown, buffer); err != nil {
			return err
		}
	}
	return children(me, members, func(child, _ int) error { return k.send((child+root)%members, stepDown, buffer) })
}

// treeGather collects all members' parts of output at member 0.
func (k *call) treeGather(output []byte, part int) error {
	me, members := k.group.rank, len(k.group.ranks)
	err := children(me, members, func(child, end int) error {
		return k.receive(child, stepUp, output[child*part:end*part])
	})
	if err == nil && me > 0 {
		err = k.send(parent(me), stepUp, output[me*part:subtreeEnd(me, members)*part])
	}
	return err
}
