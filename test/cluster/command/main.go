//go:build linux

// Command cluster keeps a test cluster on this machine: up starts one and returns when it is ready, down stops it, run
// stays in the foreground.
//
//	cluster up|down|run [-dir FOLDER] [-nodes N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/rankwright/rankwright/test/cluster"
)

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: up, down or run")
	}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	dir := flags.String("dir", ".cache/cluster", "folder of keys, data and logs")
	nodes := flags.Int("nodes", 3, "number of nodes")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	s := supervisor{dir: folder, nodes: *nodes}
	switch args[0] {
	case "up":
		return s.up(ctx)
	case "down":
		return s.down(ctx)
	case "run":
		return run(ctx, folder, *nodes)
	default:
		return fmt.Errorf("%q: say up, down or run", args[0])
	}
}

// run keeps a cluster until it is told to stop.
func run(ctx context.Context, dir string, nodes int) error {
	c, err := cluster.Start(ctx, cluster.Options{Dir: dir, Nodes: nodes, Log: os.Stdout})
	if err != nil {
		return err
	}
	defer c.Stop()
	fmt.Printf("ready: export KUBECONFIG=%s\n", c.Kubeconfig())
	<-ctx.Done()
	return nil
}
