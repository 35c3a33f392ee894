package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}

// step is a detection, or an event where xid is set, so many seconds after the start, and the state that follows.
type step struct {
	at   int
	seen v1alpha1.DeviceHealth
	xid  int64
	also Evidence
	// booted is when the host booted, in seconds after the start; 0 where that is not known.
	booted int
	again  bool
	want   string
}

func saw(state v1alpha1.HealthState, reason ...string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: state, Reason: strings.Join(reason, "")}
}

var (
	well      = saw(v1alpha1.Healthy)
	lost      = saw(v1alpha1.Unhealthy, "GPULost")
	reset     = saw(v1alpha1.Unhealthy, "ResetRequired")
	hot       = saw(v1alpha1.Degraded, "Overheated")
	noAnswer  = saw(v1alpha1.Unknown, "NoAnswer")
	failed    = saw(v1alpha1.Unknown, "BackendFailed")
	notSeen   = saw(v1alpha1.Unknown, "NotSeen")
	noDriver  = saw(v1alpha1.Unknown, "NoDriver")
	unwatched = saw(v1alpha1.Unknown, v1alpha1.ReasonNotMonitored)
)

var histories = map[string][]step{
	"a device that is well stays so": {
		{at: 0, seen: well, want: "Healthy"}, {at: 300, seen: well, want: "Healthy"},
	},
	"worse at once, better after a minute and three detections": {
		{at: 0, seen: well, want: "Healthy"},
		{at: 30, seen: reset, want: "Unhealthy ResetRequired"},
		{at: 60, seen: well, want: "Unhealthy ResetRequired"},
		{at: 70, seen: well, want: "Unhealthy ResetRequired"},
		{at: 80, seen: well, want: "Unhealthy ResetRequired"},
		{at: 119, seen: well, want: "Unhealthy ResetRequired"},
		{at: 120, seen: well, want: "Healthy"},
	},
	"time alone is not enough": {
		{at: 0, seen: reset, want: "Unhealthy ResetRequired"},
		{at: 300, seen: well, want: "Unhealthy ResetRequired"},
		{at: 600, seen: well, want: "Unhealthy ResetRequired"},
		{at: 900, seen: well, want: "Healthy"},
	},
	"the same detection again is none": {
		{at: 0, seen: reset, want: "Unhealthy ResetRequired"},
		{at: 30, seen: well, want: "Unhealthy ResetRequired"},
		{at: 100, seen: well, want: "Unhealthy ResetRequired"},
		{at: 200, seen: well, again: true, want: "Unhealthy ResetRequired"},
		{at: 210, seen: well, want: "Healthy"},
	},
	"a relapse begins the recovery anew": {
		{at: 0, seen: hot, want: "Degraded Overheated"},
		{at: 30, seen: well, want: "Degraded Overheated"},
		{at: 60, seen: well, want: "Degraded Overheated"},
		{at: 89, seen: hot, want: "Degraded Overheated"},
		{at: 120, seen: well, want: "Degraded Overheated"},
		{at: 150, seen: well, want: "Degraded Overheated"},
		{at: 180, seen: well, want: "Healthy"},
	},
	"what cannot be queried is not usable, and no proof": {
		{at: 0, seen: reset, want: "Unhealthy ResetRequired"},
		{at: 30, seen: noAnswer, want: "Unhealthy ResetRequired"},
		{at: 60, seen: unwatched, want: "Unhealthy ResetRequired"},
		{at: 90, seen: failed, want: "Unhealthy ResetRequired"},
		{at: 120, seen: well, want: "Unhealthy ResetRequired"},
		{at: 150, seen: well, want: "Unhealthy ResetRequired"},
		{at: 180, seen: well, want: "Healthy"},
	},
	"degraded and then silent is unknown": {
		{at: 0, seen: hot, want: "Degraded Overheated"}, {at: 30, seen: failed, want: "Unknown BackendFailed"},
	},
	"degraded and then unmonitored stays": {
		{at: 0, seen: hot, want: "Degraded Overheated"}, {at: 30, seen: unwatched, want: "Degraded Overheated"},
	},
	"a device that was not known to fail is known again": {
		{at: 0, seen: well, want: "Healthy"},
		{at: 30, seen: failed, want: "Unknown BackendFailed"},
		{at: 35, seen: well, want: "Unknown BackendFailed"},
		{at: 40, seen: well, want: "Healthy"},
	},
	"XID 79 stays until the driver asks for nothing": {
		{at: 0, seen: well, want: "Healthy"},
		{at: 10, xid: 79, want: "Unhealthy XID79"},
		{at: 11, seen: well, want: "Unhealthy XID79"},
		{at: 1000, seen: well, want: "Unhealthy XID79"},
		{at: 2000, seen: well, want: "Unhealthy XID79"},
		{at: 3000, seen: well, want: "Unhealthy XID79"},
		{at: 3030, seen: well, also: NoActionNeeded, want: "Unhealthy XID79"},
		{at: 3060, seen: well, also: NoActionNeeded, want: "Unhealthy XID79"},
		{at: 3090, seen: well, also: NoActionNeeded, want: "Healthy"},
	},
	"XID 79 ends with the boot of the node": {
		{at: 0, xid: 79, want: "Unhealthy XID79"},
		{at: 500, seen: well, booted: -100, want: "Unhealthy XID79"},
		{at: 600, seen: well, booted: 550, want: "Unhealthy XID79"},
		{at: 630, seen: well, booted: 550, want: "Unhealthy XID79"},
		{at: 660, seen: well, booted: 550, want: "Healthy"},
	},
	"XID 79, lost, and back": {
		{at: 0, xid: 79, want: "Unhealthy XID79"},
		{at: 10, seen: lost, want: "Unhealthy GPULost"},
		{at: 60, seen: well, want: "Unhealthy GPULost"},
		{at: 90, seen: well, want: "Unhealthy GPULost"},
		{at: 120, seen: well, want: "Healthy"},
	},
	"XID 79, its driver unloaded and loaded": {
		{at: 0, xid: 79, want: "Unhealthy XID79"},
		{at: 10, seen: noDriver, want: "Unknown NoDriver"},
		{at: 60, seen: well, want: "Healthy"},
	},
	"another fault does not hide what only a reset clears": {
		{at: 0, xid: 48, want: "Unhealthy XID48"},
		{at: 30, seen: reset, want: "Unhealthy XID48"},
		{at: 60, seen: well, want: "Unhealthy XID48"},
		{at: 90, seen: well, also: CountersAnew, want: "Unhealthy XID48"},
		{at: 120, seen: well, want: "Unhealthy XID48"},
		{at: 150, seen: well, want: "Healthy"},
	},
	"a harmless event does not end a fatal one": {
		{at: 0, xid: 79, want: "Unhealthy XID79"}, {at: 1, xid: 31, want: "Unhealthy XID79"}, {at: 2, xid: 94, want: "Unhealthy XID79"},
	},
	"a fault during the recovery begins it anew": {
		{at: 0, xid: 79, want: "Unhealthy XID79"},
		{at: 30, seen: well, also: NoActionNeeded, want: "Unhealthy XID79"},
		{at: 60, seen: well, also: NoActionNeeded, want: "Unhealthy XID79"},
		{at: 80, xid: 63, want: "Unhealthy XID79"},
		{at: 90, seen: well, want: "Unhealthy XID79"},
		{at: 120, seen: well, want: "Unhealthy XID79"},
		{at: 150, seen: well, want: "Unhealthy XID79"},
	},
	"an application's fault is none of the device": {
		{at: 0, seen: well, want: "Healthy"},
		{at: 1, xid: 13, want: "Healthy"},
		{at: 2, xid: 31, want: "Healthy"},
		{at: 3, xid: 43, want: "Healthy"},
		{at: 4, xid: 45, want: "Healthy"},
		{at: 5, xid: 68, want: "Healthy"},
		{at: 6, xid: 109, want: "Healthy"},
	},
	"an unknown XID degrades until the device looks well": {
		{at: 0, seen: well, want: "Healthy"},
		{at: 1, xid: 4711, want: "Degraded XID4711"},
		{at: 30, seen: well, want: "Degraded XID4711"},
		{at: 60, seen: well, want: "Degraded XID4711"},
		{at: 90, seen: well, want: "Healthy"},
	},
	"contained errors degrade, uncontained ones end": {
		{at: 0, xid: 94, want: "Degraded XID94"}, {at: 1, xid: 95, want: "Unhealthy XID95"}, {at: 2, xid: 64, want: "Unhealthy XID95"},
	},
	"a device that is not seen is unknown, as is one without driver": {
		{at: 0, seen: reset, want: "Unhealthy ResetRequired"}, {at: 30, seen: notSeen, want: "Unknown NotSeen"},
	},
}

// play runs a history. Every step is by a machine of its own, as if the agent had been restarted before each.
func play(t *testing.T, steps []step) {
	t.Helper()
	var published v1alpha1.DeviceHealth
	for _, s := range steps {
		if s.xid != 0 {
			if signal, ok := XID(s.xid); ok {
				published = DefaultRules.Fault(published, signal, at(s.at))
			}
		} else {
			seen := Observation{Health: s.seen, Evidence: s.also, Again: s.again}
			if s.booted != 0 {
				seen.Booted = at(s.booted).Time
			}
			published = DefaultRules.Next(published, seen, at(s.at))
		}
		if got := strings.TrimSpace(fmt.Sprint(published.State, " ", published.Reason)); got != s.want {
			t.Fatalf("at %d s: %s (%s), want %s", s.at, got, published.Message, s.want)
		}
	}
}

func TestHistories(t *testing.T) {
	for name, steps := range histories {
		t.Run(name, func(t *testing.T) { play(t, steps) })
	}
}

func TestMessagesTellWhatClearsAndHowFarItIs(t *testing.T) {
	signal, _ := XID(79)
	fault := DefaultRules.Fault(v1alpha1.DeviceHealth{}, signal, at(0))
	const evidence = "XID 79: the GPU has fallen off the bus; this stays until the driver asks for no recovery, or its counters of errors begin anew, " +
		"or the node boots, or its driver is loaded anew or the device comes back"
	since := at(0)
	if diff := cmp.Diff(v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "XID79", Message: evidence, Since: &since}, fault); diff != "" {
		t.Error(diff)
	}
	next := DefaultRules.Next(fault, Observation{Health: well, Evidence: NoActionNeeded}, at(60))
	if want := evidence + "; looks well since 2026-01-02T03:05:05Z (1 of 3 detections)"; next.Message != want {
		t.Errorf("message %q, want %q", next.Message, want)
	}
	if !Pending(next, well) || Pending(fault, well) {
		t.Error("a recovery that has begun is pending, and one that waits for evidence is not")
	}
}

func TestSinceIsOfTheState(t *testing.T) {
	first := DefaultRules.Next(v1alpha1.DeviceHealth{}, Observation{Health: reset}, at(0))
	second := DefaultRules.Next(first, Observation{Health: lost}, at(60))
	if !second.Since.Equal(first.Since) || second.Reason != "GPULost" {
		t.Errorf("%+v after %+v, want another reason since the same time", second, first)
	}
}

func FuzzParseRecovery(f *testing.F) {
	f.Add("XID 79; looks well since 2026-01-02T03:05:05Z (1 of 3 detections)")
	f.Add("; looks well since 2026-01-02T03:05:05+01:00 (999999 of 0 detections)")
	f.Add(strings.Repeat("é", 2000))
	f.Fuzz(func(t *testing.T, message string) {
		evidence, under := parseRecovery(message)
		if under == nil {
			if evidence != message {
				t.Fatalf("%q lost a part without a recovery: %q", message, evidence)
			}
			return
		}
		printed := under.print(evidence, DefaultRules.Detections)
		if len(printed) > maxMessage {
			t.Fatalf("%d bytes", len(printed))
		}
		_, again := parseRecovery(printed)
		if again == nil || !again.since.Equal(under.since) || again.detections != under.detections {
			t.Errorf("%q is read as %+v, printed %q, read again as %+v", message, under, printed, again)
		}
	})
}
