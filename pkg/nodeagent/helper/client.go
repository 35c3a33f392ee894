package helper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

const (
	// startGrace is what the helper may take to listen after the agent started: containers of a pod start together, and a
	// first detection without the helper would call every device unknown for some seconds.
	startGrace = 15 * time.Second
	// dialInterval is the time between the attempts within startGrace.
	dialInterval = 100 * time.Millisecond
	// maxAnswer bounds a line of the server's, in bytes: both outputs of a tool, in base64.
	maxAnswer = 2*(host.MaxOutputSize/3+1)*4 + 64<<10
)

// Client runs tools where the helper runs. It implements detect.Tools.
type Client struct {
	socket string
	// started is when the client was made; reached is set when the helper has answered once.
	started time.Time
	reached atomic.Bool
}

// Dial returns a client of the helper that listens at the socket. It connects when something is to be run.
func Dial(socket string) *Client { return &Client{socket: socket, started: time.Now()} }

// Run implements detect.Commands. The time that the context leaves is the tool's.
func (c *Client) Run(ctx context.Context, argv ...string) (host.CommandResult, error) {
	ask := request{Argv: argv}
	if deadline, ok := ctx.Deadline(); ok {
		ask.TimeoutMillis = max(time.Until(deadline).Milliseconds(), 1)
	}
	end, err := c.invoke(ctx, ask, func([]byte) error { return nil })
	if err != nil {
		return host.CommandResult{}, err
	}
	return host.CommandResult{ExitCode: end.ExitCode, Stdout: end.Stdout, Stderr: end.Stderr}, nil
}

// Stream implements detect.Streamer.
func (c *Client) Stream(ctx context.Context, tell func(line []byte) error, argv ...string) error {
	_, err := c.invoke(ctx, request{Argv: argv, Stream: true}, tell)
	if err == nil {
		err = fmt.Errorf("%s: it ended", strings.Join(argv, " "))
	}
	return err
}

// invoke sends a request and reads the answers up to the last.
func (c *Client) invoke(ctx context.Context, ask request, tell func(line []byte) error) (answer, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return answer{}, c.problem(ctx, ask, err)
	}
	defer conn.Close() //nolint:errcheck // all was read, or is not wanted
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := json.NewEncoder(conn).Encode(ask); err != nil {
		return answer{}, c.problem(ctx, ask, err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var said answer
		if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
			return answer{}, c.problem(ctx, ask, err)
		}
		if said.Ended {
			return said, said.Failure.err()
		}
		if err := tell(said.Line); err != nil {
			return answer{}, fmt.Errorf("%s: %w", strings.Join(ask.Argv, " "), err)
		}
	}
	return answer{}, c.problem(ctx, ask, errors.Join(errors.New("the connection ended"), lines.Err()))
}

// connect waits for a helper that is just being started, and for no other.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
		if err == nil {
			c.reached.Store(true)
			return conn, nil
		}
		if c.reached.Load() || time.Since(c.started) > startGrace {
			return nil, err
		}
		if !await.Pause(ctx, clock.RealClock{}, dialInterval, nil) {
			return nil, err
		}
	}
}

// problem names the helper, since what failed is not the tool. The end of the context is what it is.
func (c *Client) problem(ctx context.Context, ask request, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", strings.Join(ask.Argv, " "), ctx.Err())
	}
	return fmt.Errorf("%s: the helper at %s does not answer: %w: see the container `helper` of the node agent's pod", strings.Join(ask.Argv, " "), c.socket, err)
}
