package nodeagent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent/health"
)

func sawDevices(devices ...v1alpha1.Device) detection {
	return detection{status: status(backends(backendIs("nvidia", v1alpha1.BackendFound)), devices...)}
}

func applied(h *deviceHealth, previous v1alpha1.AcceleratorInventoryStatus, d detection, now metav1.Time) nextState {
	faults, monitor, published := h.waiting()
	defer published()
	d.scan = 1
	return next(known{status: previous}, d, view{faults: faults, monitor: monitor}, now)
}

func TestFaultsAreOfTheFunctionAndAreToldOnce(t *testing.T) {
	h := &deviceHealth{}
	signal, _ := health.XID(79)
	h.fault(deviceFault{pci: h100(1).PCI.Address, signal: signal})
	h.fault(deviceFault{pci: h100(1).PCI.Address, signal: signal})
	h.fault(deviceFault{pci: "0000:ff:00.0", signal: signal})
	if faults, _, _ := h.waiting(); len(faults) != 2 {
		t.Errorf("%d faults wait, want 2", len(faults))
	}
	first := applied(h, status(nil), sawDevices(h100(0), h100(1)), earlier)
	if devices := first.status.Devices; devices[0].Health.State != v1alpha1.Healthy || devices[1].Health.Reason != "XID79" || first.recheck {
		t.Errorf("devices %+v, recheck %t", devices, first.recheck)
	}
	if faults, _, _ := h.waiting(); len(faults) != 0 {
		t.Errorf("%d faults wait after the publication", len(faults))
	}
	replaced := h100(1, func(d *v1alpha1.Device) { d.UUID = "GPU-other" })
	if second := applied(h, first.status, sawDevices(h100(0), replaced), later).status; second.Devices[1].Health.State != v1alpha1.Healthy {
		t.Errorf("%+v: another GPU in the place has the fault of the former", second.Devices[1].Health)
	}
}

func TestRecheckWhileADeviceRecovers(t *testing.T) {
	h := &deviceHealth{}
	before := status(nil, h100(0, in("Degraded", "Overheated")))
	if !applied(h, before, sawDevices(h100(0)), later).recheck {
		t.Error("no other detection soon for a device that looks well")
	}
	if applied(h, before, sawDevices(h100(0, in("Degraded", "Overheated"))), later).recheck {
		t.Error("another detection soon for a device that does not change")
	}
	suspicious := sawDevices(h100(1))
	suspicious.signs = map[v1alpha1.DeviceID]backend.Signs{h100(1).ID: {Suspicions: []v1alpha1.DeviceHealth{{State: "Degraded", Reason: "Overheated"}}}}
	got := applied(h, status(nil), suspicious, later)
	if !got.recheck || got.status.Devices[0].Health.State != v1alpha1.Healthy {
		t.Errorf("%+v, recheck %t: one suspicion is to be looked at again, no more", got.status.Devices[0].Health, got.recheck)
	}
}

func TestMonitoredOrNot(t *testing.T) {
	byEvents := backend.Signs{ByEvents: true}
	healthy, unwatched := "Healthy", "Unknown"
	tests := map[string]struct {
		state     monitorState
		after     time.Duration
		published v1alpha1.HealthState
		signs     backend.Signs
		want      string
	}{
		"it watches":                               {monitorWatching, 0, "", byEvents, healthy},
		"it failed":                                {monitorFailed, 0, v1alpha1.Healthy, byEvents, unwatched},
		"there is none":                            {monitorAbsent, 0, v1alpha1.Healthy, byEvents, unwatched},
		"it starts, and nothing is known":          {monitorStarting, 0, "", byEvents, unwatched},
		"it starts, and the device was well":       {monitorStarting, time.Second, v1alpha1.Healthy, byEvents, healthy},
		"it never says so":                         {monitorStarting, startPatience, v1alpha1.Healthy, byEvents, unwatched},
		"the driver tells of faults, none watches": {monitorFailed, 0, "", backend.Signs{}, healthy},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := gpuMonitor{tc.state, "why", later.Time}
			got := m.judge(v1alpha1.DeviceHealth{State: tc.published}, v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, tc.signs, later.Add(tc.after))
			if string(got.State) != tc.want || tc.want == unwatched && got.Reason != v1alpha1.ReasonNotMonitored {
				t.Errorf("%+v, want %s", got, tc.want)
			}
		})
	}
}

// A monitor that is started again is not trusted before it says that it watches.
func TestMonitorThatCrashesAgainAndAgain(t *testing.T) {
	h := &deviceHealth{}
	var news []bool
	for _, state := range []monitorState{monitorStarting, monitorFailed, monitorStarting, monitorFailed, monitorStarting, monitorWatching, monitorFailed} {
		news = append(news, h.setMonitor(state, "", later.Time))
	}
	if diff := cmp.Diff([]bool{true, true, false, false, false, true, true}, news); diff != "" {
		t.Error(diff)
	}
}

func TestGPUSignals(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	tests := map[string]struct {
		event report.Event
		want  string
	}{
		"fatal":          {report.Event{Type: report.XID, XID: number(79)}, "XID79"},
		"an application": {report.Event{Type: report.XID, XID: number(31)}, ""},
		"one bit":        {report.Event{Type: report.SingleBitECC}, ""},
		"two bits":       {report.Event{Type: report.DoubleBitECC}, "UncorrectableECC"},
		"another":        {report.Event{Type: "0x40"}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if signal, _ := gpuSignal(tc.event); signal.Reason != tc.want {
				t.Errorf("%+v, want %q", signal, tc.want)
			}
		})
	}
}

func TestWedgedGPU(t *testing.T) {
	message := []byte("change@/devices/pci0000:00/0000:00:01.0/0000:03:00.0/drm/card0\x00ACTION=change\x00SUBSYSTEM=drm\x00WEDGED=rebind,bus-reset\x00")
	event, ok := parseUevent(message)
	if !ok || !event.wedged || event.pciAddress() != "0000:03:00.0" {
		t.Errorf("%+v of %q", event, event.pciAddress())
	}
	if address := (uevent{path: "/devices/virtual/drm/card9"}).pciAddress(); address != "" {
		t.Errorf("address %q of what is on no bus", address)
	}
}
