//go:build linux

package nodeagent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// program writes a script that stands for rankwright-nvml: NVML itself is tested where it is bound.
func program(t *testing.T, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rankwright-nvml")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n[ \"$1\" = events ] || exit 9\n"+script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return name
}

func TestGPUErrorsAreReadAgainAndAgain(t *testing.T) {
	log := program(t, `echo '{"pci":"0000:17:00.0","type":"XID","xid":79}'; exit 3`)
	clock := testingclock.NewFakeClock(later.Time)
	seen := make(chan report.Event, 10)
	source := openGPUErrors(log, log, clock, slog.New(slog.DiscardHandler), func(e report.Event) { seen <- e }, ignoreState)
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
	source := openGPUErrors(program(t, `echo '{"type":"SingleBitECC"}'; exec cat`), "/dev/null", testingclock.NewFakeClock(later.Time),
		slog.New(slog.DiscardHandler), func(report.Event) {}, ignoreState)
	<-watched(t, source)
}

func TestGPUErrorsWithoutDriver(t *testing.T) {
	clock := testingclock.NewFakeClock(later.Time)
	seen := make(chan report.Event, 10)
	driver := filepath.Join(t.TempDir(), "version")
	source := openGPUErrors(program(t, `echo '{"type":"XID"}'; exec cat`), driver, clock, slog.New(slog.DiscardHandler), func(e report.Event) { seen <- e }, ignoreState)
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
	name := program(t, `echo nonsense; exec cat`)
	source := openGPUErrors(name, name, clock, slog.New(slog.DiscardHandler), func(e report.Event) { t.Errorf("%+v", e) }, ignoreState)
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
