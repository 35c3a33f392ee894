package nccl

import (
	"context"
	"fmt"
)

// Gather implements collective.Group.
func (g *Group) Gather(ctx context.Context, output, input []byte, root int) error {
	if g.Rank() != root {
		output = nil
	} else if err := g.parts("output", len(output), "input", len(input)); err != nil {
		return err
	}
	return g.rooted(ctx, callGather, output, input, root, len(input), func(t *transfers, out, in, part uintptr) {
		t.send(in, part, root)
		if g.Rank() == root {
			for peer := range g.Size() {
				t.receive(out+uintptr(peer)*part, part, peer)
			}
		}
	})
}

// Scatter implements collective.Group.
func (g *Group) Scatter(ctx context.Context, output, input []byte, root int) error {
	if g.Rank() != root {
		input = nil
	} else if err := g.parts("input", len(input), "output", len(output)); err != nil {
		return err
	}
	return g.rooted(ctx, callScatter, output, input, root, len(output), func(t *transfers, out, in, part uintptr) {
		if g.Rank() == root {
			for peer := range g.Size() {
				t.send(in+uintptr(peer)*part, part, peer)
			}
		}
		t.receive(out, part, root)
	})
}

// rooted does a call that has a root and moves parts of so many bytes.
func (g *Group) rooted(ctx context.Context, name string, output, input []byte, root, part int,
	move func(t *transfers, out, in, part uintptr),
) error {
	if err := g.member(root); err != nil {
		return err
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := g.agree(ctx, name, root, part); err != nil || part == 0 {
		return err
	}
	return g.moved(ctx, name, output, input, func(out, in uintptr) int32 {
		t := newTransfers(g)
		move(t, out, in, uintptr(part))
		return t.end()
	})
}

// parts refuses a buffer that is not one part for each member.
func (g *Group) parts(whole string, wholeLength int, part string, partLength int) error {
	if want := partLength * g.Size(); wholeLength != want {
		return fmt.Errorf("%s has %d bytes and %s %d: with %d members %s must have %d", whole, wholeLength, part, partLength, g.Size(), whole, want)
	}
	return nil
}

// transfers are sends and receives that NCCL does together. After the first that fails, no more are begun.
type transfers struct {
	group *Group
	code  int32
}

func newTransfers(g *Group) *transfers { return &transfers{group: g, code: g.library().groupStart()} }

func (t *transfers) going() bool { return t.code == 0 || t.code == ncclInProgress }

func (t *transfers) send(from, bytes uintptr, to int) {
	if t.going() {
		t.code = t.group.library().send(from, bytes, byteCode, int32(to), t.group.comm, t.group.device.stream)
	}
}

func (t *transfers) receive(into, bytes uintptr, from int) {
	if t.going() {
		t.code = t.group.library().receive(into, bytes, byteCode, int32(from), t.group.comm, t.group.device.stream)
	}
}

// end ends the transfers and returns their common result.
func (t *transfers) end() int32 {
	if end := t.group.library().groupEnd(); t.going() {
		t.code = end
	}
	return t.code
}
