package nccl

import (
	"context"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// Codes of ncclDataType_t and ncclRedOp_t, for what travels in a Reduction.
var (
	dtypeCodes = map[collective.DType]int32{collective.UINT8: 1, collective.INT32: 2, collective.INT64: 4, collective.FP32: 7}
	opCodes    = map[collective.Op]int32{collective.Sum: 0, collective.Product: 1, collective.Max: 2, collective.Min: 3}
)

const byteCode = 1 // ncclUint8

// AllReduce implements collective.Group.
func (g *Group) AllReduce(ctx context.Context, buffer []byte, dtype collective.DType, op collective.Op) error {
	return g.reduce(ctx, "AllReduce", buffer, buffer, dtype, op, g.loaded.allReduce)
}

// ReduceScatter implements collective.Group.
func (g *Group) ReduceScatter(ctx context.Context, output, input []byte, dtype collective.DType, op collective.Op) error {
	if err := collective.CheckParts("input", len(input), "output", len(output), g.Size()); err != nil {
		return err
	}
	return g.reduce(ctx, "ReduceScatter", output, input, dtype, op, g.loaded.reduceScatter)
}

type reduceCall func(in, out, count uintptr, dtype, op int32, comm, stream uintptr) int32

func (g *Group) reduce(ctx context.Context, name string, output, input []byte, dtype collective.DType, op collective.Op, call reduceCall) error {
	r, count, err := collective.Elements("buffer", output, dtype, op)
	if err != nil {
		return err
	}
	wire := make([]byte, len(input)/dtype.Size()*r.WireSize)
	r.Encode(wire, input)
	reduced := wire[:count*r.WireSize]
	err = g.together(ctx, name, reduced, wire, func(out, in uintptr) int32 {
		return call(in, out, uintptr(len(reduced)/r.Wire.Size()), dtypeCodes[r.Wire], opCodes[r.Op], g.comm.address, g.comm.device.stream)
	}, int(dtype), int(op), len(input))
	if err == nil {
		r.Decode(output, reduced, g.Size())
	}
	return err
}

// AllGather implements collective.Group.
func (g *Group) AllGather(ctx context.Context, output, input []byte) error {
	if err := collective.CheckParts("output", len(output), "input", len(input), g.Size()); err != nil {
		return err
	}
	return g.together(ctx, "AllGather", output, input, func(out, in uintptr) int32 {
		return g.loaded.allGather(in, out, uintptr(len(input)), byteCode, g.comm.address, g.comm.device.stream)
	}, len(input))
}

// Broadcast implements collective.Group.
func (g *Group) Broadcast(ctx context.Context, buffer []byte, root int) error {
	if err := collective.CheckMember("root", root, g.Size()); err != nil {
		return err
	}
	return g.together(ctx, "Broadcast", buffer, buffer, func(out, in uintptr) int32 {
		return g.loaded.broadcast(in, out, uintptr(len(buffer)), byteCode, int32(root), g.comm.address, g.comm.device.stream)
	}, root, len(buffer))
}

// Barrier implements collective.Group. The GPUs wait for each other as well, since an all-reduce of a byte goes with it.
func (g *Group) Barrier(ctx context.Context) error {
	return g.AllReduce(ctx, []byte{0}, collective.UINT8, collective.Sum)
}
