package collective

import "context"

func (g *group) AllReduce(ctx context.Context, buffer []byte, dtype DType, op Op) error {
	r, count, err := Elements("buffer", buffer, dtype, op)
	if err != nil {
		return err
	}
	h := header{operation: opAllReduce, dtype: dtype, op: op, bytes: uint64(len(buffer))}
	return g.collect(ctx, h, func(k *call) error {
		wire := buffer
		if r.WireSize != dtype.Size() {
			wire = sized(&g.scratch.wire, count*r.WireSize)
		}
		if r.encode != nil {
			r.encode(wire, buffer, 1)
		}
		if treeReduces(len(g.ranks), len(wire)) {
			return k.treeAllReduce(&r, buffer, wire)
		}
		return k.ring(&ring{
			reduction: &r, size: dtype.Size(), elements: count, first: 0, last: 2*len(g.ranks) - 3,
			own: wire, work: wire, result: buffer,
		})
	})
}

func (g *group) ReduceScatter(ctx context.Context, output, input []byte, dtype DType, op Op) error {
	r, count, err := Elements("input", input, dtype, op)
	if err != nil {
		return err
	}
	if _, _, err := Elements("output", output, dtype, op); err != nil {
		return err
	}
	if err := CheckParts("input", len(input), "output", len(output), len(g.ranks)); err != nil {
		return err
	}
	h := header{operation: opReduceScatter, dtype: dtype, op: op, bytes: uint64(len(input))}
	return g.collect(ctx, h, func(k *call) error {
		own, work := input, sized(&g.scratch.work, count*r.WireSize)
		if r.encode != nil {
			r.encode(work, input, 1)
			own = work
		}
		if treeReduces(len(g.ranks), len(work)) {
			if r.encode == nil {
				copy(work, input)
			}
			return k.treeReduceScatter(&r, output, work)
		}
		return k.ring(&ring{
			reduction: &r, size: dtype.Size(), elements: count, first: 0, last: len(g.ranks) - 2,
			own: own, work: work, result: output, base: chunk(count, len(g.ranks), g.rank).from,
		})
	})
}

func (g *group) Barrier(ctx context.Context) error {
	r := Reduction{combine: sum[uint8], WireSize: 1}
	return g.collect(ctx, header{operation: opBarrier}, func(k *call) error { return k.treeAllReduce(&r, nil, nil) })
}
