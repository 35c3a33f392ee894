package nodeagent

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

func in(state v1alpha1.HealthState, reason string) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Health = v1alpha1.DeviceHealth{State: state, Reason: reason} }
}

func TestHealthChanges(t *testing.T) {
	tests := map[string]struct {
		before, after []v1alpha1.Device
		want          string
	}{
		"nothing":                   {[]v1alpha1.Device{h100(0)}, []v1alpha1.Device{h100(0)}, ""},
		"a fault":                   {[]v1alpha1.Device{h100(0)}, []v1alpha1.Device{h100(0, in("Unhealthy", "XID79"))}, "Unhealthy XID79"},
		"another fault":             {[]v1alpha1.Device{h100(0, in("Unhealthy", "XID79"))}, []v1alpha1.Device{h100(0, in("Unhealthy", "GPULost"))}, "Unhealthy GPULost"},
		"the same fault":            {[]v1alpha1.Device{h100(0, in("Unhealthy", "XID79"))}, []v1alpha1.Device{h100(0, in("Unhealthy", "XID79"))}, ""},
		"recovered":                 {[]v1alpha1.Device{h100(0, in("Unhealthy", "XID79"))}, []v1alpha1.Device{h100(0)}, "Healthy "},
		"a new device":              {nil, []v1alpha1.Device{h100(0)}, ""},
		"a new device with a fault": {nil, []v1alpha1.Device{h100(0, in("Degraded", "Overheated"))}, "Degraded Overheated"},
		"a new device, unmonitored": {nil, []v1alpha1.Device{h100(0, in("Unknown", v1alpha1.ReasonNotMonitored))}, ""},
		"no longer monitored":       {[]v1alpha1.Device{h100(0)}, []v1alpha1.Device{h100(0, in("Unknown", v1alpha1.ReasonNotMonitored))}, "Unknown NotMonitored"},
		"gone":                      {[]v1alpha1.Device{h100(0)}, nil, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := status(nil, tc.before...), status(nil, tc.after...)
			got := ""
			for _, c := range healthChanges(&before, &after) {
				got += string(c.after.State) + " " + c.after.Reason
			}
			if got != tc.want {
				t.Errorf("changes %q, want %q", got, tc.want)
			}
		})
	}
}

// However many devices change, the events of a minute are bounded, and every change is told of or counted.
func TestEventsAreBounded(t *testing.T) {
	clock := testingclock.NewFakeClock(later.Time)
	r := &eventRecorder{clock: clock}
	many := func(n int) (changes []healthChange) {
		for i := range n {
			changes = append(changes, healthChange{
				device: h100(i).ID, before: v1alpha1.DeviceHealth{State: "Healthy"}, after: v1alpha1.DeviceHealth{State: "Unhealthy", Reason: "XID79"},
			})
		}
		return changes
	}
	notes := func(planned []event) (notes []string) {
		for _, e := range planned {
			notes = append(notes, e.kind+" "+e.reason+" "+e.note)
		}
		return notes
	}
	first := notes(r.plan(many(64)))
	const sum = "Warning DevicesChanged the health of more devices changed: "
	if len(first) != eventBudget || first[9] != sum+"55 to Unhealthy (XID79)" ||
		first[0] != "Warning DeviceUnhealthy nvidia-0000:10:00.0: Unhealthy (XID79), was Healthy" {
		t.Errorf("planned %q", first)
	}
	if again := notes(r.plan(many(3))); len(again) != 0 {
		t.Errorf("planned %q in the same minute", again)
	}
	clock.Step(time.Minute)
	if diff := cmp.Diff([]string{sum + "3 to Unhealthy (XID79)"}, notes(r.plan(nil))); diff != "" {
		t.Errorf("a minute later (-want +got):\n%s", diff)
	}
}

func TestEventsOfAChangeHaveOneName(t *testing.T) {
	r := &eventRecorder{clock: testingclock.NewFakeClock(later.Time), node: "n"}
	change := healthChange{device: "a", after: v1alpha1.DeviceHealth{State: "Unhealthy", Since: &later}}
	name := func(c healthChange) string { return r.manifest(c.event(), "uid").GetName() }
	other := change
	other.after.Since = &earlier
	first, again, later := name(change), name(change), name(other)
	if first != again || first == later {
		t.Errorf("%s, %s, %s: want one name for a change and another for a later one", first, again, later)
	}
	change.after.Message = fmt.Sprintf("%2000s", "é")
	if note := r.manifest(change.event(), "uid").Object["note"].(string); len(note) > words.MaxNote { //nolint:errcheck,forcetypeassert // the test ends
		t.Errorf("a note of %d bytes", len(note))
	}
}
