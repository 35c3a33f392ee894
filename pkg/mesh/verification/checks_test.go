package verification

import (
	"context"
	"errors"
	"testing"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// idle is a group whose calls move nothing and tell no error.
type idle struct{ collective.Group }

func (idle) AllReduce(context.Context, []byte, collective.DType, collective.Op) error { return nil }
func (idle) ReduceScatter(_ context.Context, _, _ []byte, _ collective.DType, _ collective.Op) error {
	return nil
}
func (idle) AllGather(_ context.Context, _, _ []byte) error     { return nil }
func (idle) AllToAll(_ context.Context, _, _ []byte) error      { return nil }
func (idle) Broadcast(_ context.Context, _ []byte, _ int) error { return nil }
func (idle) Send(_ context.Context, _ []byte, _ int) error      { return nil }
func (idle) Receive(_ context.Context, _ []byte, _ int) error   { return nil }

func TestChecksSeeWrongResults(t *testing.T) {
	local, err := collective.Local(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range local {
		t.Cleanup(func() { _ = c.Close() })
	}
	s := &session{seed: 7, ranks: []int{1, 2}}
	for call, test := range map[string]struct {
		check check
		from  int
	}{
		"all-reduce":     {checkAllReduce, -1},
		"reduce-scatter": {checkReduceScatter, -1},
		"all-gather":     {checkAllGather, -1},
		"broadcast":      {checkBroadcast, -1},
		"all-to-all":     {checkAllToAll, 0},
		"send":           {checkNeighbours, 0},
	} {
		var wrong *wrongResult
		if err := test.check(t.Context(), idle{local[1].World()}, s); !errors.As(err, &wrong) || wrong.call != call || wrong.from != test.from {
			t.Errorf("%s: %v, want a wrong result from %d", call, err, test.from)
		}
	}
}
