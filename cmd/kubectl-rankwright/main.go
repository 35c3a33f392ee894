// Kubectl-rankwright is a kubectl plugin for looking at hosts, models, plans and ranks without a cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
