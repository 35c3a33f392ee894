// The node agent detects the accelerators of a node and publishes them: an AcceleratorInventory, labels of the Node, and
// a Lease as heartbeat.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rankwright/rankwright/cmd/node-agent/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	code := command.Run(ctx, os.Args[1:], os.Stdout, os.Stderr, hangups)
	stop()
	os.Exit(code)
}
