package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/rankwright/rankwright/internal/repository"
)

// RunWorlds breaks things in so many worlds at once, each with a control plane of its own and the next seed, until all faults are injected. The report
// is of all; the error is that of each world which could not go on, while the others do.
func RunWorlds(ctx context.Context, o Options, worlds int) (*Report, error) {
	if worlds < 1 {
		return nil, fmt.Errorf("worlds: %d is less than 1", worlds)
	}
	o.left, o.operator = o.budget(), filepath.Join(o.Dir, "operator")
	if err := repository.Build(ctx, o.operator, "cmd/operator"); err != nil {
		return nil, err
	}
	reports, errs := make([]*Report, worlds), make([]error, worlds)
	var running sync.WaitGroup
	for i := range worlds {
		share := o.world(i)
		running.Go(func() {
			if errs[i] = os.MkdirAll(share.Dir, 0o700); errs[i] != nil {
				return
			}
			reports[i], errs[i] = run(ctx, share)
			if errs[i] != nil {
				_, _ = fmt.Fprintf(share.Log, "it cannot go on: %v\n", errs[i])
				errs[i] = fmt.Errorf("seed %d: %w", share.Seed, errs[i])
			}
		})
	}
	running.Wait()
	all := newReport(o)
	for _, of := range reports {
		if of != nil {
			all.add(of)
		}
	}
	return all, errors.Join(errs...)
}

// budget are all faults.
func (o Options) budget() *atomic.Int64 {
	left := &atomic.Int64{}
	left.Store(int64(o.Faults))
	return left
}

// world is what world i does.
func (o Options) world(i int) Options {
	o.Seed += uint64(i)
	o.Dir = filepath.Join(o.Dir, fmt.Sprintf("seed-%d", o.Seed))
	o.Log = seeded{o.Log, o.Seed}
	return o
}

// seeded begins each line with the seed of the world that says it.
type seeded struct {
	out  io.Writer
	seed uint64
}

// Write takes a line.
func (s seeded) Write(line []byte) (int, error) {
	if _, err := fmt.Fprintf(s.out, "%d: %s", s.seed, line); err != nil {
		return 0, fmt.Errorf("log: %w", err)
	}
	return len(line), nil
}
