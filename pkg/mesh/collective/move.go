package collective

import (
	"context"
	"errors"
	"fmt"
)

func (g *group) AllGather(ctx context.Context, output, input []byte) error {
	if err := g.parts("output", len(output), "input", len(input)); err != nil {
		return err
	}
	h := header{operation: opAllGather, bytes: uint64(len(input))}
	return g.collect(ctx, h, func(k *call) error {
		members, part := len(g.ranks), len(input)
		copy(output[g.rank*part:], input)
		if !treeGathers(members, part) {
			return k.ring(&ringPlan{size: 1, elements: len(output), first: members - 1, last: 2*members - 3, result: output})
		}
		if err := k.treeGather(output, part); err != nil {
			return err
		}
		return k.treeBroadcast(output, 0)
	})
}

func (g *group) Broadcast(ctx context.Context, buffer []byte, root int) error {
	if err := g.member("root", root); err != nil {
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
		for i, s := range segments(len(buffer), segmentBytes) {
			if place > 0 {
				if err := k.group.c.await(received); err != nil {
					return err
				}
			}
			if err := k.sendSegment(right, stepDown, i, buffer[s.from:s.to]); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		if place == 0 {
			return nil
		}
		left := (k.group.rank + members - 1) % members
		for i, s := range segments(len(buffer), segmentBytes) {
			if err := k.receiveSegment(left, stepDown, i, buffer[s.from:s.to]); err != nil {
				return err
			}
			received <- struct{}{}
		}
		return nil
	})
}

func (g *group) AllToAll(ctx context.Context, output, input []byte) error {
	members := len(g.ranks)
	if len(input) != len(output) || len(input)%members != 0 {
		return fmt.Errorf("input has %d bytes and output %d: both must have the same number, a multiple of the %d members",
			len(input), len(output), members)
	}
	part := len(input) / members
	h := header{operation: opAllToAll, bytes: uint64(len(input))}
	return g.collect(ctx, h, func(k *call) error {
		copy(output[g.rank*part:(g.rank+1)*part], input[g.rank*part:])
		// In step i every member sends to the i-th after it and receives from the i-th before it, so that no two send to one.
		return both(func() error {
			for step := 1; step < members; step++ {
				to := (g.rank + step) % members
				if err := k.send(to, step, input[to*part:(to+1)*part]); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			for step := 1; step < members; step++ {
				from := (g.rank - step + members) % members
				if err := k.receive(from, step, output[from*part:(from+1)*part]); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

var errSelf = errors.New("a rank cannot send to itself or receive from itself: copy the buffer")

func (g *group) Send(ctx context.Context, buffer []byte, to int) error {
	if err := g.member("to", to); err != nil {
		return err
	}
	if to == g.rank {
		return errSelf
	}
	p := &g.peers[to]
	if !p.sending.TryLock() {
		return fmt.Errorf("send to rank %d of the group: %w", to, ErrBusy)
	}
	defer p.sending.Unlock()
	h := header{operation: opSend, sequence: p.nextSend, bytes: uint64(len(buffer))}
	p.nextSend++
	return g.do(ctx, lanePair, h, func(k *call) error { return k.send(to, 0, buffer) })
}

func (g *group) Receive(ctx context.Context, buffer []byte, from int) error {
	if err := g.member("from", from); err != nil {
		return err
	}
	if from == g.rank {
		return errSelf
	}
	p := &g.peers[from]
	if !p.receiving.TryLock() {
		return fmt.Errorf("receive from rank %d of the group: %w", from, ErrBusy)
	}
	defer p.receiving.Unlock()
	h := header{operation: opSend, sequence: p.nextReceive, bytes: uint64(len(buffer))}
	p.nextReceive++
	return g.do(ctx, lanePair, h, func(k *call) error { return k.receive(from, 0, buffer) })
}
