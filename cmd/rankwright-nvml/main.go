// The program rankwright-nvml asks NVIDIA's management library about the host's GPUs and prints what it says as JSON. It
// is a program of its own so that a library that hangs or crashes takes nothing else with it, and so that those who use
// it need no dynamic linking.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rankwright/rankwright/internal/nvml"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/internal/version"
)

const usage = `Usage:
  rankwright-nvml query  [flags]   print one JSON document about all GPUs
  rankwright-nvml events [flags]   print a line of JSON for each error that a GPU reports, until the input ends
  rankwright-nvml version

Flags:
`

// Exit codes. That nothing could be asked is told in the document, with code 0.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	library  string
	driver   string
	patience time.Duration
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("rankwright-nvml", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.library, "library", "", "path of libnvidia-ml.so.1 (default: the loader's, else where drivers are mounted)")
	flags.StringVar(&o.driver, "driver-gpus", report.DriverGPUs, "folder in which the driver lists its GPUs")
	flags.DurationVar(&o.patience, "patience", 5*time.Second, "what one GPU may take to answer, or one wait for an event")
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.PrintDefaults()
	}
	if len(args) == 0 {
		flags.Usage()
		return exitUsage
	}
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage
	}
	if flags.NArg() > 0 || o.patience <= 0 {
		flags.Usage()
		return exitUsage
	}
	var err error
	switch args[0] {
	case "query":
		err = query(o, stdout)
	case "events":
		err = events(ctx, o, stdin, stdout)
	case "version":
		_, err = fmt.Fprintln(stdout, version.String())
	default:
		flags.Usage()
		return exitUsage
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "rankwright-nvml:", err)
		return exitFailure
	}
	return exitOK
}

func query(o options, stdout io.Writer) error {
	host := nvml.Query(nvml.QueryOptions{Library: o.library, Known: driverGPUs(o.driver), Patience: o.patience})
	return json.NewEncoder(stdout).Encode(host)
}

// driverGPUs are the addresses of the GPUs that the kernel's driver lists; none where it is not loaded.
func driverGPUs(folder string) []string {
	entries, _ := os.ReadDir(folder)
	var addresses []string
	for _, entry := range entries {
		if address, ok := report.Address(entry.Name()); ok {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// events prints until the input ends: whoever started this process and died cannot leave it behind.
func events(ctx context.Context, o options, stdin io.Reader, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	encoder := json.NewEncoder(stdout)
	return nvml.Events(ctx, o.library, o.patience, func(event report.Event) error { return encoder.Encode(event) })
}
