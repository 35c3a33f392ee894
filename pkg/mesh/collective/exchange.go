package collective

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// parts are a buffer with a part for each member, or with one part for a single member.
type parts struct {
	buffer []byte
	size   int // bytes of a part
	only   int // the single member; all where there is a part for each
}

const all = -1

// of returns the part of a member, and whether there is one.
func (p parts) of(member int) ([]byte, bool) {
	if p.only == all {
		return p.buffer[member*p.size : (member+1)*p.size], true
	}
	if p.only == member {
		return p.buffer, true
	}
	return nil, false
}

// exchange sends each part of out to its member and fills each part of in with what its member sends. In step i every member sends to
// the i-th after it and receives from the i-th before it, so that in an exchange of all with all no two send to one.
func (k *call) exchange(in, out parts) error {
	me, members := k.group.rank, len(k.group.ranks)
	if own, is := out.of(me); is {
		into, _ := in.of(me)
		copy(into, own)
	}
	return both(func() error {
		for step := 1; step < members; step++ {
			to := (me + step) % members
			if part, is := out.of(to); is {
				if err := k.send(to, step, part); err != nil {
					return err
				}
			}
		}
		return nil
	}, func() error {
		for step := 1; step < members; step++ {
			from := (me - step + members) % members
			if part, is := in.of(from); is {
				if err := k.receive(from, step, part); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (g *group) AllToAll(ctx context.Context, output, input []byte) error {
	members := len(g.ranks)
	if err := CheckExchange(output, input, members); err != nil {
		return err
	}
	h := header{operation: opAllToAll, bytes: uint64(len(input))}
	return g.collect(ctx, h, func(k *call) error {
		return k.exchange(parts{output, len(output) / members, all}, parts{input, len(input) / members, all})
	})
}

func (g *group) Gather(ctx context.Context, output, input []byte, root int) error {
	in, out := parts{only: g.rank}, parts{input, len(input), root}
	if g.rank == root {
		if err := CheckParts("output", len(output), "input", len(input), len(g.ranks)); err != nil {
			return err
		}
		in = parts{output, len(input), all}
	}
	return g.rooted(ctx, opGather, root, in, out, len(input))
}

func (g *group) Scatter(ctx context.Context, output, input []byte, root int) error {
	in, out := parts{output, len(output), root}, parts{only: g.rank}
	if g.rank == root {
		if err := CheckParts("input", len(input), "output", len(output), len(g.ranks)); err != nil {
			return err
		}
		out = parts{input, len(output), all}
	}
	return g.rooted(ctx, opScatter, root, in, out, len(output))
}

func (g *group) rooted(ctx context.Context, o operation, root int, in, out parts, length int) error {
	if err := CheckMember("root", root, len(g.ranks)); err != nil {
		return err
	}
	h := header{operation: o, root: uint32(root), bytes: uint64(length)}
	return g.collect(ctx, h, func(k *call) error { return k.exchange(in, out) })
}

var errSelf = errors.New("a rank cannot send to itself or receive from itself: copy the buffer")

// side is what a group keeps for the messages of one direction between this rank and a member.
type side struct {
	busy sync.Mutex
	next uint32 // message
}

func (g *group) Send(ctx context.Context, buffer []byte, to int) error {
	return g.pair(ctx, "send", "to", to, len(buffer), func(p *peer) *side { return &p.sending },
		func(k *call) error { return k.send(to, 0, buffer) })
}

func (g *group) Receive(ctx context.Context, buffer []byte, from int) error {
	return g.pair(ctx, "receive", "from", from, len(buffer), func(p *peer) *side { return &p.receiving },
		func(k *call) error { return k.receive(from, 0, buffer) })
}

func (g *group) pair(ctx context.Context, verb, towards string, member, length int, of func(*peer) *side, do func(*call) error) error {
	if err := CheckMember(towards, member, len(g.ranks)); err != nil {
		return err
	}
	if member == g.rank {
		return errSelf
	}
	s := of(&g.peers[member])
	if !s.busy.TryLock() {
		return fmt.Errorf("%s %s rank %d of the group: %w", verb, towards, member, ErrBusy)
	}
	defer s.busy.Unlock()
	h := header{operation: opSend, sequence: s.next, bytes: uint64(length)}
	s.next++
	return g.do(ctx, lanePair, h, do)
}
