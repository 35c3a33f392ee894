package nccl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

const patience = time.Minute

// libraries are NVIDIA's where there are GPUs, and one that plays them, which is loaded the same way.
var libraries = map[string]func(t *testing.T) *Library{
	"NVIDIA": func(t *testing.T) *Library {
		l, err := Open()
		if errors.Is(err, ErrUnavailable) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	},
	"played": func(t *testing.T) *Library {
		path := playedPath(t)
		l, err := open(&vendor{"NCCL", path, path, "cuda"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	},
}

var playedOnce struct {
	sync.Mutex
	path string
}

func playedPath(t *testing.T) string {
	t.Helper()
	playedOnce.Lock()
	defer playedOnce.Unlock()
	if playedOnce.path != "" {
		return playedOnce.path
	}
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler for the library that plays NCCL:", err)
	}
	path := filepath.Join(t.TempDir(), "libplayer.so")
	if out, err := exec.Command(compiler, "-O1", "-shared", "-fPIC", "-o", path, "testdata/player.c", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	playedOnce.path = path // it stays loaded after its file is gone
	return path
}

// groups are one NCCL group of so many ranks, and one of the same ranks that tells what is right.
func groups(t *testing.T, l *Library, size int) (ours []*Group, reference []collective.Group, world []*collective.Communicator) {
	t.Helper()
	if count, err := l.Devices(); err != nil || count < size {
		t.Skipf("there are %d GPUs (%v): %d ranks need one each", count, err, size)
	}
	world, err := collective.Local(size)
	if err != nil {
		t.Fatal(err)
	}
	ranks := make([]int, size)
	for i := range ranks {
		ranks[i] = i
	}
	ours = make([]*Group, size)
	onAll(t, size, func(ctx context.Context, i int) (err error) {
		ours[i], err = l.Group(ctx, world[i], ranks, i)
		return err
	})
	t.Cleanup(func() {
		for i := range size {
			if err := errors.Join(ours[i].Close(), world[i].Close()); err != nil {
				t.Error(err)
			}
		}
	})
	for _, c := range world {
		reference = append(reference, c.World())
	}
	return ours, reference, world
}

func onAll(t *testing.T, size int, call func(ctx context.Context, i int) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	errs := make([]error, size)
	var work sync.WaitGroup
	for i := range size {
		work.Go(func() { errs[i] = call(ctx, i) })
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func randomBytes(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// input has small whole numbers, whose sums no order of adding changes.
func input(dtype collective.DType, count, rank int) []byte {
	raw := randomBytes(count*dtype.Size() + rank)[rank:]
	zero := map[collective.DType]int{collective.FP32: 4, collective.FP16: 2, collective.BF16: 2}[dtype]
	for at := 0; zero > 0 && at < len(raw); at += zero {
		odd := raw[at] & 1
		clear(raw[at : at+zero])
		raw[at+zero-1] = 0x40 + odd*0x80 // 2 or -2
	}
	return raw
}

// Every call on GPUs gives what the in-process transport gives, to the bit.
func TestCallsMatchTheOtherTransports(t *testing.T) {
	for name, load := range libraries {
		for _, size := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				ours, reference, _ := groups(t, load(t), size)
				for _, dtype := range collective.DTypes() {
					for _, op := range collective.Ops() {
						compareReductions(t, ours, reference, dtype, op, 33)
					}
				}
				for _, count := range []int{0, 1, 70_000} {
					compareReductions(t, ours, reference, collective.BF16, collective.Sum, count)
					compareMoves(t, ours, reference, count)
				}
			})
		}
	}
}

// compare makes a call on both kinds of groups and compares the outputs.
func compare(t *testing.T, what string, ours []*Group, reference []collective.Group, call func(ctx context.Context, i int, g collective.Group) ([]byte, error)) {
	t.Helper()
	got, want := make([][]byte, len(ours)), make([][]byte, len(ours))
	onAll(t, len(ours), func(ctx context.Context, i int) (err error) {
		got[i], err = call(ctx, i, ours[i])
		return err
	})
	onAll(t, len(ours), func(ctx context.Context, i int) (err error) {
		want[i], err = call(ctx, i, reference[i])
		return err
	})
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%s: rank %d of %d differs", what, i, len(ours))
		}
	}
}

func compareReductions(t *testing.T, ours []*Group, reference []collective.Group, dtype collective.DType, op collective.Op, count int) {
	t.Helper()
	what := fmt.Sprintf("%s %s of %d", op, dtype, count)
	compare(t, "all-reduce "+what, ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
		buffer := input(dtype, count, i)
		return buffer, g.AllReduce(ctx, buffer, dtype, op)
	})
	compare(t, "reduce-scatter "+what, ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
		each := count / g.Size()
		output := make([]byte, each*dtype.Size())
		return output, g.ReduceScatter(ctx, output, input(dtype, each*g.Size(), i), dtype, op)
	})
}

func compareMoves(t *testing.T, ours []*Group, reference []collective.Group, length int) {
	t.Helper()
	members := len(ours)
	compare(t, "all-gather", ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
		output := make([]byte, members*length)
		return output, g.AllGather(ctx, output, input(collective.UINT8, length, i))
	})
	compare(t, "broadcast", ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
		buffer := input(collective.UINT8, length, i)
		return buffer, g.Broadcast(ctx, buffer, members-1)
	})
	for _, root := range []int{0, members - 1} {
		compare(t, "gather", ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
			output := make([]byte, members*length)
			if i != root {
				output = nil
			}
			return output, g.Gather(ctx, output, input(collective.UINT8, length, i), root)
		})
		compare(t, "scatter", ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
			output := make([]byte, length)
			return output, g.Scatter(ctx, output, input(collective.UINT8, members*length, i), root)
		})
	}
	compare(t, "all-to-all", ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
		output := make([]byte, members*length)
		return output, g.AllToAll(ctx, output, input(collective.UINT8, members*length, i))
	})
	compare(t, "barrier", ours, reference, func(ctx context.Context, _ int, g collective.Group) ([]byte, error) {
		return nil, g.Barrier(ctx)
	})
	compare(t, "send and receive", ours, reference, func(ctx context.Context, i int, g collective.Group) ([]byte, error) {
		buffer := input(collective.UINT8, length, i)
		if i^1 >= members {
			return buffer, nil
		}
		if i&1 == 0 {
			return buffer, g.Send(ctx, buffer, i^1)
		}
		return buffer, g.Receive(ctx, buffer, i^1)
	})
}

func TestFailuresEndCalls(t *testing.T) {
	for name, load := range libraries {
		t.Run(name+"/lost rank", func(t *testing.T) {
			ours, _, world := groups(t, load(t), 2)
			world[1].Abort("pulled")
			err := ours[0].AllReduce(t.Context(), make([]byte, 4), collective.FP32, collective.Sum)
			var e *collective.RankError
			if !errors.As(err, &e) || e.Rank != 1 {
				t.Errorf("got %v", err)
			}
		})
		t.Run(name+"/other dtype", func(t *testing.T) {
			ours, _, _ := groups(t, load(t), 2)
			errs := make([]error, 2)
			var work sync.WaitGroup
			for i, dtype := range []collective.DType{collective.FP32, collective.INT32} {
				work.Go(func() { errs[i] = ours[i].AllReduce(t.Context(), make([]byte, 4), dtype, collective.Sum) })
			}
			work.Wait()
			if errs[0] == nil || errs[1] == nil {
				t.Errorf("got %v: different calls must fail on both ranks", errs)
			}
		})
		t.Run(name+"/deadline", func(t *testing.T) {
			ours, _, world := groups(t, load(t), 2)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := ours[0].Barrier(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			<-world[1].Done()
		})
	}
}

func TestLibraryThatIsMissing(t *testing.T) {
	if _, err := open(&vendor{"NCCL", "libabsent.so.1", "libabsent.so.2", "cuda"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want %v", err, ErrUnavailable)
	}
}
