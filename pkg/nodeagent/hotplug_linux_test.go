package nodeagent

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/internal/measure/measuretest"
)

// watched runs a source until the test ends; what it notifies comes on the channel.
func watched(t *testing.T, source eventSource) <-chan struct{} {
	t.Helper()
	events := make(chan struct{}, 100)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- source(ctx, func() { await.Signal(events, struct{}{}) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the source ended with %v", err)
		}
	})
	return events
}

func create(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDevWatch(t *testing.T) {
	dev := t.TempDir()
	if err := os.Mkdir(filepath.Join(dev, "dri"), 0o700); err != nil {
		t.Fatal(err)
	}
	source, err := openDevWatch(dev)
	if err != nil {
		t.Fatal(err)
	}
	events := watched(t, source)
	create(t, filepath.Join(dev, "nvidia0"))
	<-events
	if err := os.Remove(filepath.Join(dev, "nvidia0")); err != nil {
		t.Fatal(err)
	}
	<-events
	create(t, filepath.Join(dev, "dri", "card0"))
	<-events
	if err := os.Mkdir(filepath.Join(dev, "vfio"), 0o700); err != nil {
		t.Fatal(err)
	}
	<-events // the folder that is watched from here on
	create(t, filepath.Join(dev, "vfio", "7"))
	<-events
	for _, idle := range []string{"tty7", "pts0", "loop3", "dm-1", "fuse", "null"} {
		create(t, filepath.Join(dev, idle))
	}
	create(t, filepath.Join(dev, "accel0"))
	<-events
	if len(events) != 0 {
		t.Error("nodes of terminals and loop devices ask for a detection")
	}
}

func TestDevWatchThatCannotBeOpened(t *testing.T) {
	for name, folder := range map[string]string{"absent": filepath.Join(t.TempDir(), "dev"), "a file": "/proc/version"} {
		if _, err := openDevWatch(folder); err == nil {
			t.Errorf("%s is watched", name)
		} else if !strings.Contains(err.Error(), folder) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseInotify(t *testing.T) {
	event := func(watch int32, mask uint32, name string, length uint32) []byte {
		var b bytes.Buffer
		for _, part := range []any{watch, mask, uint32(0), length} {
			_ = binary.Write(&b, binary.NativeEndian, part)
		}
		return append(b.Bytes(), name...)
	}
	one := event(1, unix.IN_CREATE, "nvidia0\x00\x00\x00\x00\x00\x00\x00\x00\x00", 16)
	two := event(2, unix.IN_DELETE, "", 0)
	got := parseInotify(append(one, two...))
	if len(got) != 2 || got[0].name != "nvidia0" || got[0].watch != 1 || got[1].mask != unix.IN_DELETE {
		t.Errorf("%+v", got)
	}
	for _, bad := range [][]byte{nil, one[:10], one[:20], event(1, 0, "x", 1<<31)} {
		if got := parseInotify(bad); len(got) != 0 {
			t.Errorf("%x: %+v", bad, got)
		}
	}
}

func FuzzInotify(f *testing.F) {
	f.Add(make([]byte, 48))
	f.Add([]byte("\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00abc\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if events := parseInotify(data); len(events)*unix.SizeofInotifyEvent > len(data) {
			t.Errorf("%d events in %d bytes", len(events), len(data))
		}
	})
}

// The kernel repeats the event of a device for whoever may write to its uevent file.
func TestUeventsOfThisKernel(t *testing.T) {
	source, err := openUevents(func(uevent) {})
	if err != nil {
		t.Skipf("this sandbox has no netlink socket for the kernel's events: %v", err)
	}
	events := watched(t, source)
	const device = "/sys/class/misc/cpu_dma_latency/uevent"
	if err := os.WriteFile(device, []byte("add"), 0); err != nil {
		t.Skipf("the socket opens; no event can be asked for: %v", err)
	}
	<-events
}

// Neither a source that cannot be opened nor one that fails ends the agent or the other source.
func TestEventSourcesThatFail(t *testing.T) {
	var log bytes.Buffer
	agent := newTestAgent(t, testingclock.NewFakeClock(later.Time))
	agent.log = slog.New(slog.NewTextHandler(&log, nil))
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	group, ctx := errgroup.WithContext(parent)
	failed := make(chan struct{})
	agent.watchEvents(ctx, group, map[string]func() (eventSource, error){
		triggerUevent: func() (eventSource, error) { return nil, fmt.Errorf("open inotify: %w", unix.EMFILE) },
		triggerDev: func() (eventSource, error) {
			return func(context.Context, func()) error { defer close(failed); return errors.New("broken") }, nil
		},
	})
	<-failed
	if ctx.Err() != nil {
		t.Error("a source that fails ends the agent")
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Errorf("the agent ends with %v", err)
	}
	for _, source := range []string{triggerUevent, triggerDev} {
		if isWatched(t, agent, source) {
			t.Errorf("%s is counted as watched", source)
		}
	}
	if !strings.Contains(log.String(), "too many open files") {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
}

// A node that is made asks for a detection, with the trigger that the metric counts.
func TestEventAsksForADetection(t *testing.T) {
	clock := testingclock.NewFakeClock(later.Time)
	agent := newTestAgent(t, clock)
	dev := t.TempDir()
	agent.options.DevFolder = dev
	group, ctx := errgroup.WithContext(t.Context())
	agent.watchEvents(ctx, group, agent.eventSources())
	if !isWatched(t, agent, triggerDev) {
		t.Error("the watch is not counted")
	}
	create(t, filepath.Join(dev, "nvidia0"))
	for len(agent.rescan) == 0 {
		clock.Step(quietTime)
	}
	if got := <-agent.rescan; got != triggerDev {
		t.Errorf("trigger %q", got)
	}
}

// isWatched is the metric of a source.
func isWatched(t *testing.T, agent *Agent, source string) bool {
	t.Helper()
	return slices.Contains(measuretest.Series(t, agent.metrics.registry, "rankwright_node_agent_event_source_up"),
		"rankwright_node_agent_event_source_up{node="+agent.options.NodeName+",source="+source+"} 1")
}
