// The node helper runs the tools of drivers for the node agent: a container of its own in the agent's pod, with the privileges
// that the tools need, so that the agent does without.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/rankwright/rankwright/internal/version"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/helper"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// flags are the command line.
type flags struct {
	listen   string
	root     string
	vendors  []string
	logLevel string
	version  bool

	level slog.Level
}

const usage = `Runs the tools of drivers for the node agent, which asks for them at a socket: only those that a detection needs, of the
vendors that are named. Tools run with the folder of --root as their root; rankwright-nvml runs in this program's file tree and
loads the library of the driver that it finds below --root.

Usage:
  node-helper --listen=SOCKET --vendors=VENDOR,... [flags]

Flags:
`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f flags
	set := pflag.NewFlagSet("node-helper", pflag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.listen, "listen", "", "`socket` to listen at; its folder has to exist")
	set.StringVar(&f.root, "root", "/", "`folder` where the host's file tree is; / where the tools are in this container")
	set.StringSliceVar(&f.vendors, "vendors", nil, "`vendors` whose tools may be run, by commas: "+strings.Join(host.ToolVendors(), ", "))
	set.StringVarP(&f.logLevel, "log-level", "v", "info", "least severe messages to log: debug, info, warn or error")
	set.BoolVar(&f.version, "version", false, "print the version and exit")
	set.Usage = func() { _, _ = io.WriteString(stderr, usage+set.FlagUsages()) }
	if err := set.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return complain(stderr, err)
	}
	if f.version {
		_, _ = fmt.Fprintln(stdout, version.String())
		return exitOK
	}
	if err := f.check(set.Args()); err != nil {
		return complain(stderr, err)
	}
	if err := f.serve(ctx, slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: f.level}))); err != nil {
		_, _ = fmt.Fprintln(stderr, "node-helper:", err)
		return exitFailure
	}
	return exitOK
}

func complain(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintf(stderr, "node-helper: %v\nRun node-helper --help for the flags.\n", err)
	return exitUsage
}

// check checks all flags at once.
func (f *flags) check(rest []string) error {
	var errs []error
	if len(rest) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q: it takes flags only", rest[0]))
	}
	if f.listen == "" {
		errs = append(errs, errors.New("--listen: name the socket where the node agent asks"))
	}
	if info, err := os.Stat(f.root); err != nil || !info.IsDir() {
		errs = append(errs, fmt.Errorf("--root: %q is not a folder: name the one where the host's file tree is mounted", f.root))
	}
	if len(f.vendors) == 0 {
		errs = append(errs, errors.New("--vendors: name the vendors whose tools may be run"))
	}
	for _, vendor := range f.vendors {
		if known := host.ToolVendors(); !slices.Contains(known, vendor) {
			errs = append(errs, fmt.Errorf("--vendors: no tool of %q is known: take some of %s", vendor, strings.Join(known, ", ")))
		}
	}
	if err := f.level.UnmarshalText([]byte(f.logLevel)); err != nil {
		errs = append(errs, fmt.Errorf("--log-level: %q is no level: take debug, info, warn or error", f.logLevel))
	}
	return errors.Join(errs...)
}

// serve answers the node agent until the context ends.
func (f *flags) serve(ctx context.Context, log *slog.Logger) error {
	// What an earlier run of the container left behind is nobody's: one helper is in a pod.
	if err := os.Remove(f.listen); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--listen: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w: its folder has to exist and be writable", err)
	}
	log.Info("listening", "socket", f.listen, "root", f.root, "vendors", f.vendors, "version", version.String())
	server := &helper.Server{Tools: host.CommandsIn(f.root), Allowed: host.InvocationsOf(f.vendors...), Log: log}
	if f.root != "/" { // else the loader knows the library best
		server.Complete = helper.WithLibrary(f.root)
	}
	return server.Serve(ctx, listener)
}
