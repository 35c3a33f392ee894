package nodeagent

import (
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent/health"
)

// deviceHealth collects what other goroutines tell of the devices' health until it is published.
type deviceHealth struct {
	mu sync.Mutex
	// faults are the events that are not published yet, oldest first.
	faults  []deviceFault
	monitor gpuMonitor
}

// deviceFault is an event about the devices of a PCI function.
type deviceFault struct {
	pci    string
	signal health.Signal
}

// gpuMonitor is the program that tells of errors of NVIDIA's GPUs.
type gpuMonitor struct {
	state monitorState
	// why says why it does not watch.
	why string
	// since is when the state began.
	since time.Time
}

type monitorState int

const (
	// monitorAbsent is no monitor; monitorStarting is one that has not said anything yet, so that what was known stays.
	monitorAbsent monitorState = iota
	monitorStarting
	monitorWatching
	monitorFailed
)

// startPatience is how long the monitor may take until it watches: the driver may have to start every GPU first.
const startPatience = 60 * time.Second

// maxFaults bounds the events that wait for a publication: an API server may be away while a GPU errs on and on.
const maxFaults = 1024

// fault notes an event. The same one again adds nothing.
func (h *deviceHealth) fault(f deviceFault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.faults, f) && len(h.faults) < maxFaults {
		h.faults = append(h.faults, f)
	}
}

// setMonitor notes how far the monitor is, and says whether that is news. One that failed is not starting again before it
// watches.
func (h *deviceHealth) setMonitor(state monitorState, why string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state == h.monitor.state || state == monitorStarting && h.monitor.state != monitorAbsent {
		return false
	}
	h.monitor = gpuMonitor{state, why, now}
	return true
}

// waiting returns what was told so far, and what to call when the outcome of the faults was published.
func (h *deviceHealth) waiting() (faults []deviceFault, m gpuMonitor, published func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	faults = h.faults[:len(h.faults):len(h.faults)]
	return faults, h.monitor, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.faults = h.faults[len(faults):]
	}
}

// judge decides the health of every merged device, and says whether another detection soon may change more.
func judge(merged *v1alpha1.AcceleratorInventoryStatus, previous known, detected detection, v view, now metav1.Time) (recheck bool) {
	rules, again := health.DefaultRules, detected.scan == previous.scan
	for i := range merged.Devices {
		d := &merged.Devices[i]
		var published v1alpha1.DeviceHealth
		if before := previous.status.Device(d.ID); before != nil && sameHardware(before, d) {
			published = before.Health
		}
		seen := health.Observation{Health: d.Health, Booted: detected.booted, Again: again}
		if detected.status.Device(d.ID) != nil {
			signs := detected.signs[d.ID]
			seen.Health = v.monitor.judge(published, d.Health, signs, now.Time)
			if detected.released != "" && d.Vendor == nvidiaVendor && seen.Health.Reason == v1alpha1.ReasonNotMonitored {
				seen.Health.Message = words.Cut(errReleased.Error()+": "+detected.released, maxHealthMessage)
			}
			if !again {
				var suspects bool
				seen.Health, seen.Evidence, suspects = health.See(seen.Health, previous.signs[d.ID], signs)
				recheck = recheck || suspects
			}
		}
		d.Health = rules.Next(published, seen, now)
		recheck = recheck || health.Pending(d.Health, seen.Health)
		for _, f := range v.faults {
			if d.PCI != nil && d.PCI.Address == f.pci {
				d.Health = rules.Fault(d.Health, f.signal, now)
			}
		}
	}
	return recheck
}

// judge is the health of a device some of whose errors only the monitor knows: Healthy while it watches. While it
// starts, what was published stays.
func (m gpuMonitor) judge(published, seen v1alpha1.DeviceHealth, signs backend.Signs, now time.Time) v1alpha1.DeviceHealth {
	starting := m.state == monitorStarting && now.Sub(m.since) < startPatience
	trusted := m.state == monitorWatching || starting && published.State == v1alpha1.Healthy
	if !signs.ByEvents || seen.State != v1alpha1.Healthy || trusted {
		return seen
	}
	why := m.why
	if m.state == monitorStarting {
		why = "it was started and has not said so yet"
	}
	return v1alpha1.DeviceHealth{
		State: v1alpha1.Unknown, Reason: v1alpha1.ReasonNotMonitored,
		Message: words.Cut("the driver shows no trace of errors (XID) later, and rankwright-nvml, to which it tells them, does not watch: "+why, maxHealthMessage),
	}
}

// maxHealthMessage is what the message of a device's health may hold, in bytes.
const maxHealthMessage = 1024
