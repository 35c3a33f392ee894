package collective

import (
	"bytes"
	"context"
	"testing"
	"time"
)

func TestArgumentsAreRefused(t *testing.T) {
	world := localWorld(t, 2)
	g, ctx := world[0].World(), t.Context()
	b := func(n int) []byte { return make([]byte, n) }
	for want, err := range map[string]error{
		"dtype is DType(9): use one of [FP32":                               g.AllReduce(ctx, b(4), 9, Sum),
		"op is Op(0): use one of [Sum":                                      g.AllReduce(ctx, b(4), FP32, 0),
		"buffer has 5 bytes: FP32 needs a multiple":                         g.AllReduce(ctx, b(5), FP32, Sum),
		"input must have 8":                                                 g.ReduceScatter(ctx, b(4), b(4), FP32, Sum),
		"output has 2 bytes: FP32 needs":                                    g.ReduceScatter(ctx, b(2), b(4), FP32, Sum),
		"output must have 6":                                                g.AllGather(ctx, b(7), b(3)),
		"root is 2: it must be a rank of the group":                         g.Broadcast(ctx, b(1), 2),
		"output has 5 bytes and input 3: with 2 members output must have 6": g.Gather(ctx, b(5), b(3), 0),
		"input has 7 bytes and output 3: with 2 members input must have 6":  g.Scatter(ctx, b(3), b(7), 0),
		"root is -1":                     g.Gather(ctx, nil, b(1), -1),
		"root is 3":                      g.Scatter(ctx, b(1), nil, 3),
		"to is -1":                       g.Send(ctx, b(1), -1),
		"from is 2":                      g.Receive(ctx, b(1), 2),
		"cannot send to itself":          g.Send(ctx, b(1), 0),
		"or receive from itself":         g.Receive(ctx, b(1), 0),
		"input has 3 bytes and output 3": g.AllToAll(ctx, b(3), b(3)),
		"input has 4 bytes and output 2": g.AllToAll(ctx, b(2), b(4)),
		"rank 2 of a group is outside":   second(world[0].Group([]int{0, 2})),
		"rank -1 of a group is outside":  second(world[0].Group([]int{0, -1})),
		"rank 0 is twice in a group":     second(world[0].Group([]int{0, 0})),
		"[1] lack this rank, 0":          second(world[0].Group([]int{1})),
		"ranks of a group are empty":     second(world[0].Group(nil)),
		"size is 0: it must be 1":        second(Local(0)),
	} {
		mustFail(t, err, want)
	}
	// The refused calls broke nothing.
	mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
}

func second[T any](_ T, err error) error { return err }

func TestConfigIsRefused(t *testing.T) {
	good := Config{Addresses: []string{"127.0.0.1:0"}, Mesh: "m", Key: testKey}
	for want, change := range map[string]func(*Config){
		"addresses has 0 entries":            func(c *Config) { c.Addresses = nil },
		"rank is 1: with 1 addresses":        func(c *Config) { c.Rank = 1 },
		"rank is -1":                         func(c *Config) { c.Rank = -1 },
		"key has 31 bytes: give at least 32": func(c *Config) { c.Key = bytes.Repeat([]byte{1}, 31) },
		"mesh is empty":                      func(c *Config) { c.Mesh = "" },
		"silence is 1ms":                     func(c *Config) { c.Silence = time.Millisecond },
		`address of rank 0 is "localhost"`:   func(c *Config) { c.Addresses = []string{"localhost"} },
	} {
		config := good
		change(&config)
		_, err := New(t.Context(), config)
		mustFail(t, err, want)
	}
	c, err := New(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	buffer := encodeFloat(FP32, 3)
	if err := c.World().AllReduce(t.Context(), buffer, FP32, Average); err != nil || !bytes.Equal(buffer, encodeFloat(FP32, 3)) {
		t.Errorf("one rank alone: %v, %v", buffer, err)
	}
}
