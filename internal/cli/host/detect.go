package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// detectOptions are the flags of detect.
type detectOptions struct {
	hostOptions
	selection selectOptions
	view      viewOptions
	watch     bool
	interval  time.Duration
	timings   bool
	alerts    []string
}

const detectLong = `Show the accelerators of this host as the node agent would publish them. JSON and YAML print an AcceleratorInventory;
the other formats print a line a device. With --record, also write what was read to a recording (a tar.gz of files and
of what tools printed), in which serial numbers, UUIDs, addresses and the names of hosts and users are replaced; with
--replay, look at a recording instead of this host, and with -f at a saved inventory.

Exit codes: 0 done; 1 the requirement is not met, or the detection failed; 2 the command line is wrong; 3 an alert is
met.`

const detectExample = `  # The accelerators of this host, and how they are connected
  kubectl rankwright detect -o wide

  # Those of one vendor with room for a 70 GiB model, the best first
  kubectl rankwright detect --vendor nvidia --selector 'free>=70GiB' --sort-by best

  # Is this a host with 8 TPU chips? Else exit with 1 and say what is missing
  kubectl rankwright detect --requirement 'tpu>=8'

  # Columns of one's own, by the fields that -o json shows of a device
  kubectl rankwright detect -o custom-columns=ID:.id,USED:.readings.memoryUsedMiB

  # Exit with 3 once a device is hot or one is no longer healthy
  kubectl rankwright detect --watch --alert 'temperature>85' --alert 'healthy<8'

  # Record a host for a bug report, and look at the recording anywhere
  kubectl rankwright detect --record host.tar.gz
  kubectl rankwright detect --replay host.tar.gz -o yaml > inventory.yaml

  # Ask a saved inventory
  kubectl rankwright detect -f inventory.yaml --requirement 'gpu>=8' --summary`

// NewDetect returns the command `kubectl rankwright detect`.
func NewDetect(streams term.Streams) *cobra.Command {
	var options detectOptions
	command := &cobra.Command{
		Use:     "detect [-f FILE | --replay FILE | --root FOLDER] [flags]",
		Short:   "Show the accelerators of this host, or of a recorded one",
		Long:    detectLong,
		Example: detectExample,
		Args:    term.Arguments(0, "detect takes flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			work, err := options.work(streams, c.Flags().Changed("interval"))
			if err != nil {
				return err
			}
			return work.run(c.Context())
		},
	}
	options.addFlags(command)
	addSelection(command, &options.selection)
	addView(command, &options.view)
	flags := command.Flags()
	flags.BoolVarP(&options.watch, "watch", "w", false, "after that, print what changes, until Ctrl-C or an alert is met")
	flags.DurationVar(&options.interval, "interval", 5*time.Second, "time between two looks of --watch")
	flags.BoolVar(&options.timings, "timings", false, "print to standard error what each backend took")
	flags.StringArrayVar(&options.alerts, "alert", nil, "exit with 3 where this is met, such as memoryUsed>90% or healthy<8 (may be repeated)")
	term.Complete(command, "alert", withEnding(">", alertFieldNames()))
	return command
}

// detection is the work of one call: every flag is understood, and nothing is read yet.
type detection struct {
	*detectOptions
	streams term.Streams
	// look detects once.
	look func(context.Context) (scan, error)
	// pause waits until the next look; false where there is none, because the user wants to end.
	pause   func(context.Context) bool
	now     func() time.Time
	selects selection
	alarms  []alert
}

// minInterval keeps a watch from being a load.
const minInterval = 100 * time.Millisecond

// work understands the flags, all of them before anything is read.
func (o *detectOptions) work(streams term.Streams, intervalGiven bool) (*detection, error) {
	d := &detection{
		detectOptions: o, streams: streams, now: streams.Clock(),
		look:  func(ctx context.Context) (scan, error) { return o.look(ctx, streams.Log()) },
		pause: func(ctx context.Context) bool { return pause(ctx, o.interval) },
	}
	if o.file != "" {
		d.look = o.saved(streams)
	}
	switch {
	case o.watch && o.file != "":
		return nil, term.Usagef("--watch with -f %s: a saved inventory does not change: give one of them", o.file)
	case intervalGiven && !o.watch:
		return nil, term.Usagef("--interval %v is the time between two looks of --watch: add that", o.interval)
	case o.interval < minInterval:
		return nil, term.Usagef("--interval %v: give at least %v", o.interval, minInterval)
	case o.watch && o.record != "":
		return nil, term.Usagef("--watch with --record %s: a recording is of one look: give one of them", o.record)
	case o.watch && !o.view.watchable():
		return nil, term.Usagef("--watch prints changes: use it with -o table, wide, json or yaml, and without --summary and --no-headers")
	}
	var err error
	if d.selects, err = o.selection.parse(); err != nil {
		return nil, err
	}
	if d.alarms, err = parseAlerts(o.alerts); err != nil {
		return nil, err
	}
	return d, o.check()
}

func pause(ctx context.Context, interval time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(interval):
		return true
	}
}

// run shows the host, and with --watch what changes from one look to the next.
func (d *detection) run(ctx context.Context) error {
	var last *scan
	for {
		found, err := d.look(ctx)
		if last != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if last == nil {
			d.warn(found.inventory.Status.Backends)
			printAllotments(d.streams.Err, found.inventory.Status.Devices, d.environment())
		}
		shown, unmet := d.selects.apply(found.inventory)
		found.inventory = &shown
		if err := d.show(last, &found); err != nil {
			return err
		}
		switch {
		case d.watch && d.pause(ctx):
			last = &found
		case !d.watch && unmet != "":
			return fmt.Errorf("--requirement %s is not met: %s", d.selects.required, unmet)
		default:
			return nil
		}
	}
}

// show prints a look at the host, or how it differs from the last one.
func (d *detection) show(last, found *scan) error {
	var err error
	if last == nil {
		err = d.view.writeTo(d.streams, found.inventory, found.readings)
	} else {
		err = d.tell(last, found)
	}
	if err != nil {
		return err
	}
	if d.timings {
		printTimings(d.streams.Err, found.times, found.elapsed)
	}
	return d.alarm(withReadings(found.inventory.Status.Devices, found.readings))
}

// warn tells what could not be looked at.
func (d *detection) warn(backends []v1alpha1.BackendStatus) {
	for _, b := range backends {
		if b.State == v1alpha1.BackendFailed || b.State == v1alpha1.BackendDegraded {
			_, _ = fmt.Fprintf(d.streams.Err, "warning: backend %s: %s\n", b.Name, term.Printable(b.Message))
		}
	}
}

// alarm tells which alerts are met, as an error where any is. What cannot be told is no all-clear: an alert that no
// device has a reading for is an error too.
func (d *detection) alarm(devices []liveDevice) error {
	var met, blind error
	for _, a := range d.alarms {
		result := a.check(devices)
		for _, line := range result.met {
			_, _ = fmt.Fprintf(d.streams.Err, "alert %s: %s\n", a.term, line)
			met = term.ErrAlert
		}
		switch {
		case len(result.unknown) == 0:
		case result.known == 0:
			blind = errors.Join(blind, fmt.Errorf("alert %s: no device reports %s: a driver or its tool must be there, and --no-exec not given", a.term, a.term.Field))
		case !d.watch:
			_, _ = fmt.Fprintf(d.streams.Err, "warning: alert %s: not reported by %s\n", a.term, term.IDs(result.unknown))
		}
	}
	if met != nil {
		return met
	}
	return blind
}
