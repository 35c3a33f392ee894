// Chaos breaks things around the operator: see the package above.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/test/chaos"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard())
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	o := chaos.Options{Log: os.Stderr}
	flags.IntVar(&o.Faults, "faults", 1000, "faults that are injected")
	flags.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()), "what faults, load and moments are drawn from")
	flags.DurationVar(&o.Within, "within", 0, "time after which no more faults are injected (0: none)")
	worlds := flags.Int("worlds", 1, "control planes at once, among which the faults are divided, with seeds that follow each other")
	flags.IntVar(&o.Nodes, "nodes", 4, "nodes of eight devices")
	flags.IntVar(&o.Placements, "placements", 14, "placements that are made, changed and deleted")
	flags.DurationVar(&o.Patience, "patience", 3*time.Minute, "longest time until everything is at rest after a fault")
	flags.StringVar(&o.Dir, "dir", "", "folder for logs and for what there is at a violation (default: a temporary one)")
	only := flags.String("only", "", "parts of names of faults, separated by commas; all faults where empty")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "rankwright-chaos-")
		if err != nil {
			return fmt.Errorf("folder of the run: %w", err)
		}
		o.Dir = dir
	}
	fmt.Fprintf(os.Stderr, "chaos: seed %d, logs in %s\n", o.Seed, o.Dir)
	report, err := chaos.RunWorlds(ctx, o, *worlds)
	if report != nil {
		err = errors.Join(err, report.Print(os.Stdout))
		if report.Violations() > 0 {
			err = errors.Join(err, fmt.Errorf("%d violations; repeat with -seed %d", report.Violations(), o.Seed))
		}
	}
	return err
}
