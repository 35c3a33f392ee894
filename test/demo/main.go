// Demo runs the whole of Rankwright on one machine: a real control plane, the operator, the node agent on this very host
// and on recordings of others, and the samples, from devices to ranks. It needs Go and nothing else, and leaves no
// process behind. KEEP=1 leaves everything running until Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
)

func main() {
	// What it has to say of a slow start is no part of the story.
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv("KEEP") != "")
	interrupted := ctx.Err() != nil
	cancel()
	switch {
	case err == nil:
	case interrupted:
		fmt.Fprintln(os.Stderr, "demo: interrupted; everything it started is stopped")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run goes through the demo and stops what it started, whatever came of it.
func run(ctx context.Context, keep bool) (err error) {
	root, err := repository.Root()
	if err != nil {
		return err
	}
	assets, err := controlplane.FindAssets()
	if err != nil {
		return err
	}
	if err := build(ctx, root, assets); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rankwright-demo-")
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	d := &demo{root: root, assets: assets, dir: dir, progress: newProgress(os.Stdout)}
	defer func() {
		err = errors.Join(err, d.stop())
		err = tidy(dir, err, ctx.Err() != nil)
	}()
	return d.run(ctx, keep)
}

// tidy removes the folder, unless the demo failed: then its logs are what tells why.
func tidy(dir string, err error, interrupted bool) error {
	if err != nil && !interrupted {
		return fmt.Errorf("%w\n(logs are in %s)", err, filepath.Join(dir, "logs"))
	}
	return errors.Join(err, os.RemoveAll(dir))
}
