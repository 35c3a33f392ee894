//go:build unix

package helper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// tools stand for a driver's: each command line does what its function says.
type tools map[string]func(ctx context.Context, tell func([]byte) error) (host.CommandResult, error)

// Run implements detect.Commands.
func (c tools) Run(ctx context.Context, argv ...string) (host.CommandResult, error) {
	return c.do(ctx, nil, argv)
}

// Stream implements detect.Streamer.
func (c tools) Stream(ctx context.Context, tell func([]byte) error, argv ...string) error {
	_, err := c.do(ctx, tell, argv)
	return err
}

func (c tools) do(ctx context.Context, tell func([]byte) error, argv []string) (host.CommandResult, error) {
	do, ok := c[strings.Join(argv, " ")]
	if !ok {
		return host.CommandResult{}, fmt.Errorf("%s: %w", argv[0], host.ErrNoCommand)
	}
	return do(ctx, tell)
}

func prints(result host.CommandResult, err error) func(context.Context, func([]byte) error) (host.CommandResult, error) {
	return func(context.Context, func([]byte) error) (host.CommandResult, error) { return result, err }
}

// serve starts a helper with the tools, each of which is allowed, and returns a client of it.
func serve(t *testing.T, c tools) *Client {
	t.Helper()
	s := &Server{Tools: c, Log: slog.New(slog.DiscardHandler)}
	for line := range c {
		s.Allowed = append(s.Allowed, strings.Fields(line))
	}
	return start(t, s)
}

func start(t *testing.T, s *Server) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket) //nolint:noctx // it is there at once
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return Dial(socket)
}

// What a tool prints, and how it fails, is the same as if it had run here.
func TestToolsRunAsIfTheyRanHere(t *testing.T) {
	large := host.CommandResult{ExitCode: 3, Stdout: []byte(strings.Repeat("\x00x", host.MaxOutputSize/2)), Stderr: []byte(strings.Repeat("y", host.MaxOutputSize))}
	tests := map[string]struct {
		result host.CommandResult
		err    error
	}{
		"prints":           {result: host.CommandResult{Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
		"prints the most":  {result: large},
		"not installed":    {err: fmt.Errorf("tool: %w", host.ErrNoCommand)},
		"prints too much":  {err: fmt.Errorf("tool: %w", host.ErrTooLarge)},
		"ran out of time":  {err: fmt.Errorf("tool: %w", context.DeadlineExceeded)},
		"fails in its way": {err: errors.New("tool: text file busy")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			here := tools{"tool": prints(test.result, test.err)}
			got, err := serve(t, here).Run(t.Context(), "tool")
			if diff := cmp.Diff(test.result, got); diff != "" {
				t.Errorf("result differs (-want +got):\n%s", diff)
			}
			if test.err == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || err.Error() != test.err.Error() {
				t.Errorf("%v, want %v", err, test.err)
			}
			for _, known := range []error{host.ErrNoCommand, host.ErrTooLarge, context.DeadlineExceeded} {
				if errors.Is(err, known) != errors.Is(test.err, known) {
					t.Errorf("%v is %v: %t", err, known, errors.Is(err, known))
				}
			}
		})
	}
}

func TestStreamIsToldAsItComes(t *testing.T) {
	next := make(chan string)
	client := serve(t, tools{"tool events": func(_ context.Context, tell func([]byte) error) (host.CommandResult, error) {
		for line := range next {
			if err := tell([]byte(line)); err != nil {
				return host.CommandResult{}, err
			}
		}
		return host.CommandResult{}, errors.New("tool events: it ended")
	}})
	heard := make(chan string)
	ended := make(chan error, 1)
	go func() {
		ended <- client.Stream(context.Background(), func(line []byte) error { heard <- string(line); return nil }, "tool", "events")
	}()
	for _, line := range []string{"first", "second"} {
		next <- line
		if got := <-heard; got != line {
			t.Errorf("%q, want %q", got, line)
		}
	}
	close(next)
	if err := <-ended; err == nil || err.Error() != "tool events: it ended" {
		t.Error(err)
	}
}

// A tool whose agent has gone is stopped: for its time is up, for nobody listens any more.
func TestToolsEndWithTheAgent(t *testing.T) {
	stopped := make(chan time.Duration, 2)
	hang := func(ctx context.Context, tell func([]byte) error) (host.CommandResult, error) {
		deadline, _ := ctx.Deadline()
		if tell != nil {
			_ = tell([]byte("line"))
		}
		<-ctx.Done()
		stopped <- time.Until(deadline)
		return host.CommandResult{}, ctx.Err()
	}
	client := serve(t, tools{"tool": hang})
	ctx, cancel := context.WithCancel(t.Context())
	if err := client.Stream(ctx, func([]byte) error { cancel(); return nil }, "tool"); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the context: %v", err)
	}
	<-stopped
	errListener := errors.New("not understood")
	if err := client.Stream(t.Context(), func([]byte) error { return errListener }, "tool"); !errors.Is(err, errListener) {
		t.Errorf("a listener that fails: %v", err)
	}
	<-stopped
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Run(ctx, "tool"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a time that is up: %v", err)
	}
	<-stopped
}

func TestOnlyAllowedInvocationsRun(t *testing.T) {
	ran := prints(host.CommandResult{Stdout: []byte("ran")}, nil)
	client := start(t, &Server{
		Tools: tools{"nvidia-smi -L": ran, "nvidia-smi -r": ran, "sh": ran}, Allowed: host.InvocationsOf("nvidia"), Log: slog.New(slog.DiscardHandler),
	})
	if result, err := client.Run(t.Context(), "nvidia-smi", "-L"); err != nil || string(result.Stdout) != "ran" {
		t.Errorf("%q, %v", result.Stdout, err)
	}
	for _, argv := range [][]string{{"nvidia-smi", "-r"}, {"sh"}, {}} {
		if result, err := client.Run(t.Context(), argv...); !errors.Is(err, ErrRefused) || len(result.Stdout) > 0 {
			t.Errorf("%q: %q, %v", argv, result.Stdout, err)
		}
	}
}

// Garbage and silence on the socket harm nobody else.
func TestServerOutlivesGarbage(t *testing.T) {
	client := serve(t, tools{"tool": prints(host.CommandResult{}, nil)})
	for _, text := range []string{"", "\n", "no JSON\n", "{}\n", strings.Repeat("x", 2*maxRequest)} {
		conn, err := net.Dial("unix", client.socket) //nolint:noctx // it is there at once
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text)) // it may have been closed already
		t.Cleanup(func() { _ = conn.Close() })
	}
	if _, err := client.Run(t.Context(), "tool"); err != nil {
		t.Error(err)
	}
}

func TestHelperThatIsNotThere(t *testing.T) {
	client := Dial(filepath.Join(t.TempDir(), "none"))
	client.reached.Store(true)
	_, err := client.Run(t.Context(), "tool")
	if err == nil || errors.Is(err, host.ErrNoCommand) || !strings.Contains(err.Error(), "helper") {
		t.Errorf("%v, want one that names the helper", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*dialInterval)
	defer cancel()
	if _, err := Dial(client.socket).Run(ctx, "tool"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it may still start: %v", err)
	}
}

func TestCompleteAddsToWhatWasAllowed(t *testing.T) {
	client := start(t, &Server{
		Tools: tools{"tool query -x": prints(host.CommandResult{Stdout: []byte("ran")}, nil)}, Allowed: []host.Invocation{{"tool", "query"}},
		Complete: func(argv []string) []string { return append(slices.Clone(argv), "-x") }, Log: slog.New(slog.DiscardHandler),
	})
	if result, err := client.Run(t.Context(), "tool", "query"); err != nil || string(result.Stdout) != "ran" {
		t.Errorf("%q, %v", result.Stdout, err)
	}
}
