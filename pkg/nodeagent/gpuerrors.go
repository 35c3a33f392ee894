package nodeagent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/nodeagent/health"
)

const (
	// maxGPUError is far above the length of a line that tells of an error.
	maxGPUError = 4 << 10
	// firstRestart and lastRestart bound the time until the program is started again after it ended.
	firstRestart = 10 * time.Second
	lastRestart  = 5 * time.Minute
)

// gpuErrors is an event source: the errors that NVIDIA's driver tells of by NVML (XID, ECC). A program reads them, since
// a library that hangs or crashes must not take the agent with it; when it ends, it is started again after a while.
type gpuErrors struct {
	// program is the path of rankwright-nvml, driver a file that is there while NVIDIA's driver is loaded.
	program, driver string
	clock           clock.Clock
	log             *slog.Logger
	// seen is told of every error.
	seen func(report.Event)
	// state is told how far the program is; why says what it failed of.
	state func(state monitorState, why string)

	ctx    context.Context
	cancel context.CancelFunc
}

func openGPUErrors(program, driver string, c clock.Clock, log *slog.Logger, seen func(report.Event), state func(monitorState, string)) *gpuErrors {
	ctx, cancel := context.WithCancel(context.Background())
	return &gpuErrors{program: program, driver: driver, clock: c, log: log, seen: seen, state: state, ctx: ctx, cancel: cancel}
}

func (g *gpuErrors) close() { g.cancel() }

// run implements eventSource.
func (g *gpuErrors) run(notify func()) error {
	for delay := firstRestart; g.ctx.Err() == nil; delay = min(2*delay, lastRestart) {
		if _, err := os.Stat(g.driver); err == nil {
			read, err := g.watch(notify)
			if g.ctx.Err() != nil {
				return nil
			}
			if read > 0 {
				delay = firstRestart
			}
			g.state(monitorFailed, err.Error())
			g.log.Warn("errors of NVIDIA GPUs are not watched for now", "error", err, "restartIn", delay.String())
		}
		timer := g.clock.NewTimer(delay)
		select {
		case <-g.ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
	return nil
}

// watch runs the program until it ends or the source is closed, and returns how many errors it told of. The program ends
// with its input, so it cannot outlive the agent.
func (g *gpuErrors) watch(notify func()) (read int, err error) {
	cmd := exec.CommandContext(g.ctx, g.program, "events")
	cmd.Env = []string{"LC_ALL=C"}
	input, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = input.Close() }()
	output, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	stderr := &tail{}
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	g.state(monitorStarting, "")
	read, readErr := g.read(output, notify)
	if readErr != nil {
		_ = cmd.Process.Kill() // it has ended, or says what is not understood
	}
	if err = cmd.Wait(); err == nil {
		err = errors.New("it ended")
	}
	return read, fmt.Errorf("%s events: %w", g.program, errors.Join(readErr, err, stderr.err()))
}

// read takes the errors as they come, a line each.
func (g *gpuErrors) read(output io.Reader, notify func()) (read int, err error) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, maxGPUError)
	for lines.Scan() {
		var event report.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return read, fmt.Errorf("line %d is no error of a GPU: %w", read+1, err)
		}
		if event.Type == report.Watching {
			g.state(monitorWatching, "")
			continue
		}
		read++
		g.seen(event)
		notify()
	}
	return read, lines.Err()
}

// tail keeps the first few bytes of what a program says of its failure.
type tail struct{ said []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.said = append(t.said, p[:min(len(p), 512-min(len(t.said), 512))]...)
	return len(p), nil
}

func (t *tail) err() error {
	if len(t.said) == 0 {
		return nil
	}
	return errors.New(string(t.said))
}

// gpuError logs and counts an error of a GPU, and has the device's health changed at once where it means something.
func (a *Agent) gpuError(event report.Event) {
	xid := ""
	if event.XID != nil {
		xid = strconv.FormatInt(*event.XID, 10)
	}
	a.metrics.gpuErrors.WithLabelValues(event.PCI, event.Type, xid).Inc()
	a.log.Warn("NVIDIA's driver tells of an error of a GPU", "pci", event.PCI, "type", event.Type, "xid", xid)
	if signal, ok := gpuSignal(event); ok && event.PCI != "" {
		a.deviceFault(deviceFault{pci: event.PCI, signal: signal})
	}
}

// gpuSignal is what an error means for the GPU; ok is false where it means nothing.
func gpuSignal(event report.Event) (signal health.Signal, ok bool) {
	switch {
	case event.XID != nil:
		return health.XID(*event.XID)
	case event.Type == report.DoubleBitECC:
		return health.DoubleBitECC(), true
	default:
		return health.Signal{}, false
	}
}

// deviceFault has what an event tells of published at once.
func (a *Agent) deviceFault(fault deviceFault) {
	a.publisher.health.fault(fault)
	signal(a.changed, struct{}{})
}

// gpuMonitor notes whether errors of GPUs are watched.
func (a *Agent) gpuMonitor(state monitorState, why string) {
	if a.publisher.health.setMonitor(state, why, a.clock.Now()) {
		signal(a.changed, struct{}{})
	}
}
