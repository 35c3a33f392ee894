package nodeagent

import (
	"log/slog"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

func TestRetryDelay(t *testing.T) {
	tests := []struct {
		failures int
		random   float64
		want     time.Duration
	}{
		{0, 0.5, time.Second},
		{1, 0.5, 2 * time.Second},
		{6, 0.5, 64 * time.Second},
		{7, 0.5, 2 * time.Minute},
		{1 << 40, 0.5, 2 * time.Minute},
		{0, 0, 900 * time.Millisecond},
		{7, 1, 132 * time.Second},
	}
	for _, tc := range tests {
		if got := retryDelay(tc.failures, tc.random).Round(time.Millisecond); got != tc.want {
			t.Errorf("retryDelay(%d, %g) = %s, want %s", tc.failures, tc.random, got, tc.want)
		}
	}
}

func TestRenewalDelay(t *testing.T) {
	tests := []struct {
		failed bool
		random float64
		want   time.Duration
	}{
		{false, 0, 54 * time.Second},
		{false, 0.5, time.Minute},
		{false, 1, 66 * time.Second},
		{true, 0.5, 10 * time.Second},
	}
	for _, tc := range tests {
		if got := renewalDelay(tc.failed, tc.random).Round(time.Millisecond); got != tc.want {
			t.Errorf("renewalDelay(%t, %g) = %s, want %s", tc.failed, tc.random, got, tc.want)
		}
	}
}

// newTestAgent is an agent that never talks to its API server.
func newTestAgent(t *testing.T, clock *testingclock.FakeClock) *Agent {
	t.Helper()
	agent, err := New(&rest.Config{Host: "https://192.0.2.1"}, Options{
		NodeName: "n", RescanInterval: 5 * time.Minute, BackendTimeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler), Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func TestAliveWhileTheLoopTurns(t *testing.T) {
	clock := testingclock.NewFakeClock(later.Time)
	agent := newTestAgent(t, clock)
	agent.touch()
	clock.Step(6 * time.Minute)
	if err := agent.alive(); err != nil {
		t.Errorf("within the longest turn: %v", err)
	}
	clock.Step(21 * time.Second)
	if agent.alive() == nil {
		t.Error("the loop has not turned for longer than a turn may take, and is called alive")
	}
	agent.touch()
	if err := agent.alive(); err != nil {
		t.Errorf("after a turn: %v", err)
	}
}

func TestRescanRequestsAreOne(t *testing.T) {
	agent := newTestAgent(t, testingclock.NewFakeClock(later.Time))
	for range 3 {
		agent.Rescan()
	}
	if got := len(agent.rescan); got != 1 {
		t.Errorf("%d requests are pending, want 1", got)
	}
}
