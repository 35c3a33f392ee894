package nccl

import (
	"context"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// AllToAll implements collective.Group.
func (g *Group) AllToAll(ctx context.Context, output, input []byte) error {
	if err := collective.CheckExchange(output, input, g.Size()); err != nil {
		return err
	}
	return g.together(ctx, "AllToAll", output, input, g.transfers(len(input)/g.Size(), g.everyone(), g.everyone()), len(input))
}

// Gather implements collective.Group.
func (g *Group) Gather(ctx context.Context, output, input []byte, root int) error {
	if err := collective.CheckMember("root", root, g.Size()); err != nil {
		return err
	}
	var from []int
	if g.Rank() != root {
		output = nil
	} else if err := collective.CheckParts("output", len(output), "input", len(input), g.Size()); err != nil {
		return err
	} else {
		from = g.everyone()
	}
	return g.together(ctx, "Gather", output, input, g.transfers(len(input), []int{root}, from), root, len(input))
}

// Scatter implements collective.Group.
func (g *Group) Scatter(ctx context.Context, output, input []byte, root int) error {
	if err := collective.CheckMember("root", root, g.Size()); err != nil {
		return err
	}
	var to []int
	if g.Rank() != root {
		input = nil
	} else if err := collective.CheckParts("input", len(input), "output", len(output), g.Size()); err != nil {
		return err
	} else {
		to = g.everyone()
	}
	return g.together(ctx, "Scatter", output, input, g.transfers(len(output), to, []int{root}), root, len(output))
}

// Send implements collective.Group. It waits for the receiver.
func (g *Group) Send(ctx context.Context, buffer []byte, to int) error {
	if err := collective.CheckMember("to", to, g.Size()); err != nil {
		return err
	}
	return g.do(ctx, "Send", nil, buffer, func() error { return g.tellLength(ctx, len(buffer), to) }, g.transfers(len(buffer), []int{to}, nil))
}

// Receive implements collective.Group.
func (g *Group) Receive(ctx context.Context, buffer []byte, from int) error {
	if err := collective.CheckMember("from", from, g.Size()); err != nil {
		return err
	}
	return g.do(ctx, "Receive", buffer, nil, func() error { return g.hearLength(ctx, len(buffer), from) }, g.transfers(len(buffer), nil, []int{from}))
}

// everyone lists the members.
func (g *Group) everyone() []int {
	members := make([]int, g.Size())
	for i := range members {
		members[i] = i
	}
	return members
}

// transfers sends consecutive parts of the input to some members and receives consecutive parts of the output from some, all of
// them at the same time. After the first that fails, no more are begun.
func (g *Group) transfers(part int, to, from []int) func(out, in uintptr) int32 {
	return func(out, in uintptr) int32 {
		l, c := g.loaded, g.comm
		code := l.groupStart()
		next := func(call func() int32) {
			if code == 0 || code == ncclInProgress {
				code = call()
			}
		}
		for i, peer := range to {
			next(func() int32 {
				return l.send(in+uintptr(i*part), uintptr(part), byteCode, int32(peer), c.address, c.device.stream)
			})
		}
		for i, peer := range from {
			next(func() int32 {
				return l.receive(out+uintptr(i*part), uintptr(part), byteCode, int32(peer), c.address, c.device.stream)
			})
		}
		end := l.groupEnd()
		next(func() int32 { return end })
		return code
	}
}
