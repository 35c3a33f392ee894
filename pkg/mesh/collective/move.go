package collective

import "context"

func (g *group) AllGather(ctx context.Context, output, input []byte) error {
	if err := CheckParts("output", len(output), "input", len(input), len(g.ranks)); err != nil {
		return err
	}
	h := header{operation: opAllGather, bytes: uint64(len(input))}
	return g.collect(ctx, h, func(k *call) error {
		members, part := len(g.ranks), len(input)
		copy(output[g.rank*part:], input)
		if !treeGathers(members, part) {
			return k.ring(&ring{size: 1, elements: len(output), first: members - 1, last: 2*members - 3, result: output})
		}
		if err := k.treeGather(output, part); err != nil {
			return err
		}
		return k.treeBroadcast(output, 0)
	})
}

func (g *group) Broadcast(ctx context.Context, buffer []byte, root int) error {
	if err := CheckMember("root", root, len(g.ranks)); err != nil {
		return err
	}
	h := header{operation: opBroadcast, root: uint32(root), bytes: uint64(len(buffer))}
	return g.collect(ctx, h, func(k *call) error {
		if treeBroadcasts(len(g.ranks), len(buffer)) {
			return k.treeBroadcast(buffer, root)
		}
		return k.chainBroadcast(buffer, root)
	})
}

// chainBroadcast passes the root's buffer from member to member, a segment while the next one arrives.
func (k *call) chainBroadcast(buffer []byte, root int) error {
	members := len(k.group.ranks)
	place := (k.group.rank - root + members) % members
	received := make(chan struct{}, len(buffer)/segmentBytes+1)
	return both(func() error {
		if place == members-1 {
			return nil
		}
		right := (k.group.rank + 1) % members
		return eachSegment(len(buffer), func(i int, s span) error {
			if place > 0 {
				if err := k.group.c.await(received); err != nil {
					return err
				}
			}
			return k.sendSegment(right, stepDown, i, buffer[s.from:s.to])
		})
	}, func() error {
		if place == 0 {
			return nil
		}
		left := (k.group.rank + members - 1) % members
		return eachSegment(len(buffer), func(i int, s span) error {
			err := k.receiveSegment(left, stepDown, i, buffer[s.from:s.to])
			received <- struct{}{}
			return err
		})
	})
}
