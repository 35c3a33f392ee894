package verification

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// verifier is one pod's verification while it runs.
type verifier struct {
	Config
	port  *collective.Port
	pairs [][]pair
	doors map[pair]*collective.Door
	world *collective.Communicator // nil or failed where the pods could not meet or lost each other

	kinds []Measured
	found []Finding
	own   row
	// library is the name of the library that was used between devices; empty where none was used.
	library string
}

// Verify verifies a pod's part of a mesh together with the other pods of its copy, in the time of the task. What is wrong with the
// mesh is in the report; an error means that the configuration is wrong. A pod that is alone in its copy has nothing to verify over
// the network.
func Verify(ctx context.Context, c Config) (*Report, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("verify mesh: %w", err)
	}
	v := &verifier{Config: c, pairs: c.Task.pairs(), doors: map[pair]*collective.Door{}}
	v.port = collective.NewPort(c.Listener)
	defer func() { _ = v.port.Close() }()
	if c.Task.Concluded {
		return v.report(Concluded), nil
	}
	for _, p := range v.pairs[v.Place] {
		v.doors[p] = v.port.Open(v.pairName(p))
	}
	ctx, cancel := context.WithTimeout(ctx, c.Task.deadline())
	defer cancel()
	if len(c.Task.Pods) > 1 {
		v.own.ceiling = v.ceiling(ctx)
	}
	v.groups(ctx)
	v.links(ctx)
	m := v.gather(ctx)
	v.judge(m)
	if v.world != nil {
		_ = v.world.Close() // the others have heard everything
	}
	if len(v.found) > 0 || m.troubled(c.Task) {
		return v.report(Failed), nil
	}
	return v.report(Verified), nil
}

// groups meets the other pods and verifies the groups, until only the time for the links is left.
func (v *verifier) groups(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-probing(v.Task.deadline())))
	defer cancel()
	if len(v.Task.Pods) > 1 {
		v.Log.Info("meeting", "pods", len(v.Task.Pods), "for", time.Until(deadline).Round(time.Second).String())
		if err := v.meet(ctx); err != nil {
			v.fail("", err)
			return
		}
	}
	for at := range v.Task.shares {
		kind := &v.Task.shares[at]
		if err := v.within(ctx, func(ctx context.Context) error { return v.verifyKind(ctx, uint64(at), kind) }); err != nil {
			v.fail(kind.name, err)
			return
		}
	}
	if err := v.within(ctx, v.devices); err != nil {
		v.fail("", err)
		return
	}
	if slow, _ := v.slowGroup(); slow != nil {
		v.own.troubled = true
	}
}

// within bounds the groups of one kind, so that a link that swallows everything does not take all of the time.
func (v *verifier) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probing(v.Task.deadline()))
	defer cancel()
	return do(ctx)
}

// meet waits for the other pods. A pod that tries to probe a link has given up on the others, so that waiting ends.
func (v *verifier) meet(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, door := range v.doors {
		go func() {
			select {
			case <-door.Knocked():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	addresses := make([]string, len(v.Task.Pods))
	for place := range v.Task.Pods {
		addresses[place] = v.Task.Pods[place].Address()
	}
	name := fmt.Sprintf("%s %s %d", v.Task.Mesh, v.Task.Plan, v.Task.Copy)
	world, err := collective.New(ctx, collective.Config{
		Rank: v.Place, Addresses: addresses, Mesh: name, Key: v.Key, Listener: v.port.Open(name), Dial: v.Dial, Silence: v.Silence,
	})
	v.world = world
	if err != nil {
		return err
	}
	// So far a pod has met only the pods that watch it. The time of the groups begins when all others have come.
	return world.World().Barrier(ctx)
}

// pairName returns the name of the mesh that two pods form while their link is probed. It follows from the key, so that nobody
// without the key can make pods believe that others gave up.
func (v *verifier) pairName(p pair) string {
	mac := hmac.New(sha256.New, v.Key)
	mac.Write(fmt.Appendf(nil, "rankwright link %s %s %d %d %d", v.Task.Mesh, v.Task.Plan, v.Task.Copy, p.low, p.high))
	return hex.EncodeToString(mac.Sum(nil))
}

// alive says whether the pods can still be asked all together.
func (v *verifier) alive() bool { return v.world != nil && v.world.Err() == nil }

// gather joins what all pods know, where they can be asked.
func (v *verifier) gather(ctx context.Context) matrix {
	m := make(matrix, len(v.Task.Pods))
	m[v.Place] = &v.own
	if !v.alive() {
		return m
	}
	slots := 0
	for _, pairs := range v.pairs {
		slots = max(slots, len(pairs))
	}
	mine := wordsOf(v.own.numbers(slots))
	all, err := v.exchange(ctx, mine)
	if err != nil {
		v.fail("", err)
		return m
	}
	for place := range m {
		if place != v.Place {
			m[place] = rowOf(numbersOf(all[place*len(mine):(place+1)*len(mine)]), place, v.pairs[place])
		}
	}
	return m
}
