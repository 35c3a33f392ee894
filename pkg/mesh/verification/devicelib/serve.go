package devicelib

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/verification/traffic"
)

// Library is what the program has loaded.
type Library interface {
	Loaded() (Loaded, error)
	NewID() ([]byte, error)
	// Join makes a rank of a communicator on a device. All ranks join at the same time.
	Join(ctx context.Context, id []byte, size, rank, ordinal int) (Rank, error)
}

// Rank is a rank of a communicator. Buffers stay on its device; calls are made so often, after one that is not measured.
type Rank interface {
	AllReduce(ctx context.Context, data []byte, calls int) (sums []byte, took time.Duration, err error)
	Send(ctx context.Context, data []byte, to, calls int) (time.Duration, error)
	Receive(ctx context.Context, bytes, from, calls int) ([]byte, error)
	Close() error
}

// Serve says what was loaded, or why nothing was, and answers questions until the input ends.
func Serve(ctx context.Context, library Library, failure error, in io.Reader, out io.Writer) error {
	encoder := json.NewEncoder(out)
	if failure == nil {
		var loaded Loaded
		if loaded, failure = library.Loaded(); failure == nil {
			if err := encoder.Encode(answer{Loaded: &loaded}); err != nil {
				return err
			}
		}
	}
	if failure != nil {
		return encoder.Encode(answer{Error: failure.Error()})
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // whoever asked is done
		}
		var q request
		if err := json.Unmarshal(line, &q); err != nil {
			return fmt.Errorf("a question that is none: %w", err)
		}
		if err := encoder.Encode(reply(ctx, library, &q)); err != nil {
			return err
		}
	}
}

func reply(ctx context.Context, library Library, q *request) answer {
	var a answer
	for range q.IDs {
		id, err := library.NewID()
		if err != nil {
			return answer{Error: err.Error()}
		}
		a.IDs = append(a.IDs, id)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(q.Millis)*time.Millisecond)
	defer cancel()
	a.Results = make([]Result, len(q.Jobs))
	var work sync.WaitGroup
	for i := range q.Jobs {
		work.Go(func() {
			result, err := do(ctx, library, &q.Jobs[i])
			if err != nil {
				result = Result{Error: err.Error()}
			}
			a.Results[i] = result
		})
	}
	work.Wait()
	return a
}

// A check moves so much, so often: 134 MB, which take 0.3 ms over NVLink and a second over 1 Gbit/s.
const (
	dataBytes = 16 << 20
	calls     = 8
)

func do(ctx context.Context, library Library, job *Job) (Result, error) {
	if job.Bytes <= 0 || job.Bytes%traffic.WordBytes != 0 {
		job.Bytes = dataBytes
	}
	rank, err := library.Join(ctx, job.ID, job.Size, job.Rank, job.Ordinal)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = rank.Close() }() // what fails is of no more use
	if job.All {
		return addUp(ctx, rank, job)
	}
	var result Result
	for sender := range 2 {
		if job.Rank == sender {
			took, err := rank.Send(ctx, traffic.Pattern(job.Bytes, job.Seed, job.Rank), 1-sender, calls)
			if err != nil {
				return Result{}, err
			}
			result.MBps = traffic.MBps(float64(job.Bytes*calls), took)
			continue
		}
		got, err := rank.Receive(ctx, job.Bytes, sender, calls)
		if err != nil {
			return Result{}, err
		}
		result.Wrong = len(got) != job.Bytes || !traffic.IsPattern(got, job.Seed, sender)
	}
	return result, nil
}

func addUp(ctx context.Context, rank Rank, job *Job) (Result, error) {
	sums, took, err := rank.AllReduce(ctx, traffic.Pattern(job.Bytes, job.Seed, job.Rank), calls)
	if err != nil {
		return Result{}, err
	}
	right := len(sums) == job.Bytes && traffic.IsSum(sums, job.Seed, 0, slices.Repeat([]int{1}, job.Size))
	return Result{MBps: traffic.BusMBps(job.Bytes*calls, job.Size, took), Wrong: !right}, nil
}
