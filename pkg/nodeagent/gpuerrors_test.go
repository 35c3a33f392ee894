//go:build linux

package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// monitor stands for rankwright-nvml: it prints its lines and then hangs, or ends where it is told to.
type monitor struct {
	lines []string
	ends  bool
}

// Stream implements detect.Streamer.
func (m monitor) Stream(ctx context.Context, tell func(line []byte) error, argv ...string) error {
	if !slices.Equal(argv, []string{"rankwright-nvml", "events"}) {
		return fmt.Errorf("%q was run", argv)
	}
	for _, line := range m.lines {
		if err := tell([]byte(line)); err != nil {
			return err
		}
	}
	if !m.ends {
		<-ctx.Done()
	}
	return errors.New("it ended")
}

func TestGPUErrorsAreReadAgainAndAgain(t *testing.T) {
	tools := monitor{[]string{`{"pci":"0000:17:00.0","type":"XID","xid":79}`}, true}
	clock := testingclock.NewFakeClock(later.Time)
	seen := make(chan report.Event, 10)
	source := (&gpuErrors{
		tools: tools, driver: os.DevNull, gate: newDriverGate(), clock: clock, log: slog.New(slog.DiscardHandler),
		seen: func(e report.Event) { seen <- e }, state: ignoreState,
	}).run
	events := watched(t, source)
	xid := int64(79)
	for range 3 {
		<-events
		if diff := cmp.Diff(report.Event{PCI: "0000:17:00.0", Type: "XID", XID: &xid}, <-seen); diff != "" {
			t.Error(diff)
		}
		awaitTimer(t, clock)
		clock.Step(firstRestart)
	}
}

// A program that hangs ends with the source.
func TestGPUErrorsEndWithTheAgent(t *testing.T) {
	source := (&gpuErrors{
		tools: monitor{[]string{`{"type":"SingleBitECC"}`}, false}, driver: os.DevNull, gate: newDriverGate(), clock: testingclock.NewFakeClock(later.Time), log: slog.New(slog.DiscardHandler),
		seen: func(report.Event) {}, state: ignoreState,
	}).run
	<-watched(t, source)
}

func TestGPUErrorsWithoutDriver(t *testing.T) {
	clock := testingclock.NewFakeClock(later.Time)
	seen := make(chan report.Event, 10)
	driver := filepath.Join(t.TempDir(), "version")
	source := (&gpuErrors{
		tools: monitor{[]string{`{"type":"XID"}`}, false}, driver: driver, gate: newDriverGate(), clock: clock, log: slog.New(slog.DiscardHandler),
		seen: func(e report.Event) { seen <- e }, state: ignoreState,
	}).run
	events := watched(t, source)
	awaitTimer(t, clock)
	if len(seen) > 0 {
		t.Error("the program ran without a driver")
	}
	create(t, driver)
	clock.Step(firstRestart)
	<-events
}

// What is no event ends the program, and not the source.
func TestGPUErrorsOfGarbage(t *testing.T) {
	clock := testingclock.NewFakeClock(later.Time)
	source := (&gpuErrors{
		tools: monitor{[]string{"nonsense"}, false}, driver: os.DevNull, gate: newDriverGate(), clock: clock, log: slog.New(slog.DiscardHandler),
		seen: func(e report.Event) { t.Errorf("%+v", e) }, state: ignoreState,
	}).run
	watched(t, source)
	awaitTimer(t, clock)
}

func ignoreState(monitorState, string) {}

// awaitTimer waits until somebody waits for the clock.
func awaitTimer(t *testing.T, clock *testingclock.FakeClock) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return clock.HasWaiters(), nil
	})
	if err != nil {
		t.Fatal("nobody waits for the clock")
	}
}
