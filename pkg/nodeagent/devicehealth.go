package nodeagent

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/nodeagent/health"
)

// deviceHealth joins what detections and error events tell of the devices' health. Events come from other goroutines.
type deviceHealth struct {
	rules  health.Rules
	memory health.Memory

	mu sync.Mutex
	// faults are the events that are not published yet, oldest first.
	faults  []deviceFault
	monitor monitorState
	// why says why the monitor does not watch, started when it was started first.
	why     string
	started time.Time
}

// deviceFault is an event about the devices of a PCI function.
type deviceFault struct {
	pci    string
	signal health.Signal
}

// monitorState is how far the program is that tells of errors of NVIDIA's GPUs.
type monitorState int

const (
	// monitorAbsent: there is none; monitorStarting: it has not said anything yet, and what was known stays.
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
	for _, waiting := range h.faults {
		if waiting.pci == f.pci && waiting.signal.Reason == f.signal.Reason {
			return
		}
	}
	if len(h.faults) < maxFaults {
		h.faults = append(h.faults, f)
	}
}

// setMonitor notes how far the monitor is, and says whether that is news. One that failed is not starting again before it
// watches.
func (h *deviceHealth) setMonitor(state monitorState, why string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state == h.monitor || state == monitorStarting && h.monitor != monitorAbsent {
		return false
	}
	h.monitor, h.why, h.started = state, why, now
	return true
}

// waiting returns the events so far, and what to call when their outcome was published.
func (h *deviceHealth) waiting() (faults []deviceFault, published func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	faults = h.faults[:len(h.faults):len(h.faults)]
	return faults, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.faults = h.faults[len(faults):]
	}
}

// apply decides the health of every merged device; detected is what the detection saw, again whether it was merged before.
// recheck says whether another detection soon may change more.
func (h *deviceHealth) apply(previous v1alpha1.AcceleratorInventoryStatus, merged *v1alpha1.AcceleratorInventoryStatus,
	detected detection, faults []deviceFault, again bool, now metav1.Time,
) (recheck bool) {
	known := map[v1alpha1.DeviceID]bool{}
	for i := range merged.Devices {
		d := &merged.Devices[i]
		known[d.ID] = true
		var published v1alpha1.DeviceHealth
		if before := previous.Device(d.ID); before != nil && sameHardware(before, d) {
			published = before.Health
		}
		seen := health.Observation{Health: d.Health, Booted: detected.booted, Again: again}
		if detected.status.Device(d.ID) != nil {
			signs := detected.signs[d.ID]
			seen.Health = h.monitored(published, d.Health, signs, now.Time)
			if detected.released != "" && d.Vendor == nvidiaVendor && seen.Health.Reason == v1alpha1.ReasonNotMonitored {
				seen.Health.Message = words.Cut(errReleased.Error()+": "+detected.released, maxHealthMessage)
			}
			if !again {
				var suspects bool
				seen.Health, seen.Evidence, suspects = h.memory.See(d.ID, seen.Health, signs)
				recheck = recheck || suspects
			}
		}
		d.Health = h.rules.Next(published, seen, now)
		recheck = recheck || health.Pending(d.Health, seen.Health)
		for _, f := range faults {
			if d.PCI != nil && d.PCI.Address == f.pci {
				d.Health = h.rules.Fault(d.Health, f.signal, now)
			}
		}
	}
	h.memory.Keep(known)
	return recheck
}

// monitored is the health of a device some of whose errors only the monitor knows: Healthy while it watches. While it
// starts, what was published stays.
func (h *deviceHealth) monitored(published, seen v1alpha1.DeviceHealth, signs detect.Signs, now time.Time) v1alpha1.DeviceHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	starting := h.monitor == monitorStarting && now.Sub(h.started) < startPatience
	trusted := h.monitor == monitorWatching || starting && published.State == v1alpha1.Healthy
	if !signs.ByEvents || seen.State != v1alpha1.Healthy || trusted {
		return seen
	}
	why := h.why
	if h.monitor == monitorStarting {
		why = "it was started and has not said so yet"
	}
	return v1alpha1.DeviceHealth{
		State: v1alpha1.Unknown, Reason: v1alpha1.ReasonNotMonitored,
		Message: words.Cut("the driver shows no trace of errors (XID) later, and rankwright-nvml, to which it tells them, does not watch: "+why, maxHealthMessage),
	}
}

// maxHealthMessage is what the message of a device's health may hold, in bytes.
const maxHealthMessage = 1024
