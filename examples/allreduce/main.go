// Command allreduce proves that the pods of a placement can work together: each rank meets the others where the placement's
// files say, adds known numbers up in every process group, and checks the sums. It needs no accelerator.
//
// It runs in pods that are bound to a placement with the launcher `groups`; allreduce.yaml beside it has everything. Each rank
// prints a line, with the sum and the bus bandwidth of its group of each kind:
//
//	rank 3 on node-1: dp [1 3 5] sum 12, 0.41 GB/s; tp [2 3] sum 7, 0.66 GB/s; world [0 1 2 3 4 5] sum 21, 0.30 GB/s
//
// It ends with 1 where a sum is wrong or a rank is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "allreduce:", err)
		os.Exit(1)
	}
}

// task is what all ranks do.
type task struct {
	bytes, rounds int
	now           func() time.Time
}

func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	flags := flag.NewFlagSet("allreduce", flag.ContinueOnError)
	keyFile := flags.String("key", "/etc/allreduce/key", "file with the secret of the ranks, 32 bytes or more")
	port := flags.Int("port", 29600, "port of the first rank of each host; the others of the host follow")
	mebibytes := flags.Int("mib", 16, "size of the buffer in MiB")
	rounds := flags.Int("rounds", 5, "all-reduces in each group")
	deadline := flags.Duration("deadline", 5*time.Minute, "time for everything, the start of the other pods included")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *mebibytes < 1 || *rounds < 1 || *port < 1 || *port > maxPort {
		return fmt.Errorf("-mib %d, -rounds %d, -port %d: each must be at least 1, and the port at most %d", *mebibytes, *rounds, *port, maxPort)
	}
	here, err := readPlace(getenv)
	if err != nil {
		return err
	}
	addresses, err := here.addresses(*port)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(*keyFile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *deadline)
	defer cancel()
	t := task{bytes: *mebibytes << 20, rounds: *rounds, now: time.Now}
	lines := make([]string, len(here.ranks))
	working, ctx := errgroup.WithContext(ctx)
	for i, rank := range here.ranks {
		working.Go(func() error {
			results, err := t.reduce(ctx, here.config(rank, addresses, key), here.groups.Kinds)
			lines[i] = line(rank, here.node, results)
			return err
		})
	}
	err = working.Wait()
	_, printing := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return errors.Join(err, printing)
}
