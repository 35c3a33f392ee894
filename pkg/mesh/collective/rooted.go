package collective

import "context"

func (g *group) Gather(ctx context.Context, output, input []byte, root int) error {
	if err := g.member("root", root); err != nil {
		return err
	}
	if g.rank == root {
		if err := g.parts("output", len(output), "input", len(input)); err != nil {
			return err
		}
	}
	part := len(input)
	h := header{operation: opGather, root: uint32(root), bytes: uint64(part)}
	return g.collect(ctx, h, func(k *call) error {
		if g.rank != root {
			return k.send(root, stepUp, input)
		}
		copy(output[root*part:], input)
		return g.others(func(member int) error {
			return k.receive(member, stepUp, output[member*part:(member+1)*part])
		})
	})
}

func (g *group) Scatter(ctx context.Context, output, input []byte, root int) error {
	if err := g.member("root", root); err != nil {
		return err
	}
	if g.rank == root {
		if err := g.parts("input", len(input), "output", len(output)); err != nil {
			return err
		}
	}
	part := len(output)
	h := header{operation: opScatter, root: uint32(root), bytes: uint64(part)}
	return g.collect(ctx, h, func(k *call) error {
		if g.rank != root {
			return k.receive(root, stepDown, output)
		}
		copy(output, input[root*part:])
		return g.others(func(member int) error {
			return k.send(member, stepDown, input[member*part:(member+1)*part])
		})
	})
}

// others calls visit for each other member, the next one first, until one fails.
func (g *group) others(visit func(member int) error) error {
	members := len(g.ranks)
	for step := 1; step < members; step++ {
		if err := visit((g.rank + step) % members); err != nil {
			return err
		}
	}
	return nil
}
