package helper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// maxInvocations bounds the tools that run at the same time: a detection asks for one or two of each vendor.
const maxInvocations = 16

// Server runs tools for the agent.
type Server struct {
	// Tools runs the allowed invocations.
	Tools host.Tools
	// Allowed are the invocations to run; others are refused.
	Allowed []host.Invocation
	// Complete returns the arguments that an invocation is run with; nil means those that were asked for.
	Complete func(argv []string) []string
	// Log receives what is refused and what fails.
	Log *slog.Logger
}

// Serve answers the connections of a listener until the context ends, which kills what runs, and then returns nil.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, maxInvocations)
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the listener was closed for it
		}
		if err != nil {
			return fmt.Errorf("accept a connection of the node agent: %w", err)
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			defer func() { _ = conn.Close() }()
			if err := s.answer(ctx, conn); err != nil {
				s.Log.Warn("an invocation failed", "error", err)
			}
		})
	}
}

// answer runs what a connection asks for. The error is told to the client too, as far as it listens.
func (s *Server) answer(ctx context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	input := bufio.NewReader(io.LimitReader(conn, maxRequest))
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	go func() { // a client that has gone does not want the rest
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	out := json.NewEncoder(conn)
	end, err := s.run(ctx, line, func(line []byte) error { return out.Encode(answer{Line: line}) })
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // nobody listens, or this program ends
	}
	end.Ended, end.Failure = true, newFailure(err)
	return errors.Join(err, out.Encode(end))
}

func (s *Server) run(ctx context.Context, line []byte, tell func([]byte) error) (answer, error) {
	var ask request
	if err := json.Unmarshal(line, &ask); err != nil {
		return answer{}, fmt.Errorf("a request is no JSON: %w", err)
	}
	if !host.Allows(s.Allowed, ask.Argv) {
		return answer{}, fmt.Errorf("%s: %w: see its flag --vendors", strings.Join(ask.Argv, " "), ErrRefused)
	}
	if ask.TimeoutMillis > 0 {
		shorter, cancel := context.WithTimeout(ctx, time.Duration(ask.TimeoutMillis)*time.Millisecond)
		defer cancel()
		ctx = shorter
	}
	argv := ask.Argv
	if s.Complete != nil {
		argv = s.Complete(argv)
	}
	if ask.Stream {
		return answer{}, s.Tools.Stream(ctx, tell, argv...)
	}
	result, err := s.Tools.Run(ctx, argv...)
	return answer{ExitCode: result.ExitCode, Stdout: result.Stdout, Stderr: result.Stderr}, err
}
