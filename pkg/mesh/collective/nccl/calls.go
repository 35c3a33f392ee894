package nccl

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// Codes of ncclDataType_t and ncclRedOp_t, for what travels in a Reduction.
var (
	dtypeCodes = map[collective.DType]int32{collective.UINT8: 1, collective.INT32: 2, collective.INT64: 4, collective.FP32: 7}
	opCodes    = map[collective.Op]int32{collective.Sum: 0, collective.Product: 1, collective.Max: 2, collective.Min: 3}
)

const byteCode = 1 // ncclUint8

var errClosed = errors.New("the group is closed")

// Calls of the members, as numbers for their agreement.
const (
	callAllReduce     = "AllReduce"
	callReduceScatter = "ReduceScatter"
	callAllGather     = "AllGather"
	callBroadcast     = "Broadcast"
	callAllToAll      = "AllToAll"
	callGather        = "Gather"
	callScatter       = "Scatter"
)

// moved does a call between buffers of the GPU: input is written there, and output is read back.
func (g *Group) moved(ctx context.Context, name string, output, input []byte, call func(out, in uintptr) int32) error {
	var in, out uintptr
	err := g.device.do(func() (err error) {
		if in, err = g.device.sized(&g.device.in, len(input)); err != nil {
			return err
		}
		if out, err = g.device.sized(&g.device.out, len(output)); err != nil {
			return err
		}
		return g.device.write(in, input)
	})
	if err == nil {
		err = g.attempt(ctx, name, func() int32 { return call(out, in) })
	} else {
		g.c.Abort(err.Error())
	}
	if err == nil {
		err = g.device.do(func() error { return g.device.read(output, out) })
	}
	return err
}

// enter is the beginning of a call.
func (g *Group) enter() error {
	if !g.mu.TryLock() {
		return collective.ErrBusy
	}
	if g.device == nil {
		g.mu.Unlock()
		return errClosed
	}
	if err := g.c.Err(); err != nil {
		g.mu.Unlock()
		return err
	}
	return nil
}

// AllReduce implements collective.Group.
func (g *Group) AllReduce(ctx context.Context, buffer []byte, dtype collective.DType, op collective.Op) error {
	return g.reduce(ctx, callAllReduce, buffer, buffer, dtype, op, g.library().allReduce)
}

// ReduceScatter implements collective.Group.
func (g *Group) ReduceScatter(ctx context.Context, output, input []byte, dtype collective.DType, op collective.Op) error {
	if err := g.parts("input", len(input), "output", len(output)); err != nil {
		return err
	}
	return g.reduce(ctx, callReduceScatter, output, input, dtype, op, g.library().reduceScatter)
}

type reduceCall func(in, out, count uintptr, dtype, op int32, comm, stream uintptr) int32

func (g *Group) reduce(ctx context.Context, name string, output, input []byte, dtype collective.DType, op collective.Op, call reduceCall) error {
	r, err := collective.ReductionOf(dtype, op)
	if err != nil {
		return err
	}
	if len(output)%dtype.Size() != 0 {
		return fmt.Errorf("buffer has %d bytes: %s needs a multiple of %d", len(output), dtype, dtype.Size())
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := g.agree(ctx, name, int(dtype), int(op), len(input)); err != nil || len(input) == 0 {
		return err
	}
	before, after := len(input)/dtype.Size()*r.WireSize, len(output)/dtype.Size()*r.WireSize
	if cap(g.wire) < before {
		g.wire = make([]byte, before)
	}
	wire := g.wire[:before]
	r.Encode(wire, input)
	err = g.moved(ctx, name, wire[:after], wire, func(out, in uintptr) int32 {
		return call(in, out, uintptr(after/r.Wire.Size()), dtypeCodes[r.Wire], opCodes[r.Op], g.comm, g.device.stream)
	})
	if err == nil {
		r.Decode(output, wire[:after], g.Size())
	}
	return err
}

func (g *Group) library() *functions { return &g.loaded.functions }

// AllGather implements collective.Group.
func (g *Group) AllGather(ctx context.Context, output, input []byte) error {
	if err := g.parts("output", len(output), "input", len(input)); err != nil {
		return err
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := g.agree(ctx, callAllGather, len(input)); err != nil || len(input) == 0 {
		return err
	}
	return g.moved(ctx, callAllGather, output, input, func(out, in uintptr) int32 {
		return g.library().allGather(in, out, uintptr(len(input)), byteCode, g.comm, g.device.stream)
	})
}

// Broadcast implements collective.Group.
func (g *Group) Broadcast(ctx context.Context, buffer []byte, root int) error {
	if err := g.member(root); err != nil {
		return err
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := g.agree(ctx, callBroadcast, root, len(buffer)); err != nil || len(buffer) == 0 {
		return err
	}
	return g.moved(ctx, callBroadcast, buffer, buffer, func(out, in uintptr) int32 {
		return g.library().broadcast(in, out, uintptr(len(buffer)), byteCode, int32(root), g.comm, g.device.stream)
	})
}

// AllToAll implements collective.Group.
func (g *Group) AllToAll(ctx context.Context, output, input []byte) error {
	members := g.Size()
	if len(input) != len(output) || len(input)%members != 0 {
		return fmt.Errorf("input has %d bytes and output %d: both must have the same number, a multiple of the %d members",
			len(input), len(output), members)
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := g.agree(ctx, callAllToAll, len(input)); err != nil || len(input) == 0 {
		return err
	}
	part := uintptr(len(input) / members)
	return g.moved(ctx, callAllToAll, output, input, func(out, in uintptr) int32 {
		transfers := newTransfers(g)
		for peer := range members {
			transfers.send(in+uintptr(peer)*part, part, peer)
			transfers.receive(out+uintptr(peer)*part, part, peer)
		}
		return transfers.end()
	})
}

// Barrier implements collective.Group. The GPUs wait for each other as well, since an all-reduce of a byte goes with it.
func (g *Group) Barrier(ctx context.Context) error {
	return g.AllReduce(ctx, []byte{0}, collective.UINT8, collective.Sum)
}

// Send implements collective.Group. It waits for the receiver.
func (g *Group) Send(ctx context.Context, buffer []byte, to int) error {
	return g.pair(ctx, "Send", nil, buffer, to)
}

// Receive implements collective.Group.
func (g *Group) Receive(ctx context.Context, buffer []byte, from int) error {
	return g.pair(ctx, "Receive", buffer, nil, from)
}

// pair sends or receives. The two agree on the length first; one of both buffers is nil.
func (g *Group) pair(ctx context.Context, name string, output, input []byte, peer int) error {
	if err := g.member(peer); err != nil {
		return err
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := g.agreePair(ctx, len(output), len(input), input != nil, peer); err != nil || len(output)+len(input) == 0 {
		return err
	}
	return g.moved(ctx, name, output, input, func(out, in uintptr) int32 {
		if input != nil {
			return g.library().send(in, uintptr(len(input)), byteCode, int32(peer), g.comm, g.device.stream)
		}
		return g.library().receive(out, uintptr(len(output)), byteCode, int32(peer), g.comm, g.device.stream)
	})
}

func (g *Group) member(rank int) error {
	if rank < 0 || rank >= g.Size() {
		return fmt.Errorf("rank is %d: it must be a rank of the group, 0 to %d", rank, g.Size()-1)
	}
	return nil
}
