package health

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Signal is a fault that an event tells of once. It stays until one of the observations of ClearedBy is made; where there
// are none, until the device has looked well for long enough.
type Signal struct {
	State     v1alpha1.HealthState
	Reason    string
	Meaning   string
	ClearedBy Evidence
}

// restarted are the observations that a device was reset or started anew.
const restarted = CountersAnew | Rebooted | Returned

// fatal and damaged are what the XIDs mean that call for a reset: nothing can run, or what runs may go on until then.
func fatal(meaning string) Signal {
	return Signal{State: v1alpha1.Unhealthy, Meaning: meaning, ClearedBy: NoActionNeeded | restarted}
}

func damaged(meaning string) Signal {
	return Signal{State: v1alpha1.Degraded, Meaning: meaning, ClearedBy: NoActionNeeded | restarted}
}

// signals are the faults that events tell of, by the reasons of devices that have them. Of the errors of NVIDIA's driver, they are
// those that say something of the GPU. Source: NVIDIA, XID Errors, "Analyzing Xid Errors
// with the Xid Catalog" (docs.nvidia.com/deploy/xid-errors), and "Dynamic Page Retirement" and "GPU Memory Error
// Management" there; those are fatal whose immediate action is a reset, a reboot or a workflow that ends in one.
var signals = map[string]Signal{
	"XID46":  fatal("the GPU stopped processing"),
	"XID48":  fatal("an error of two bits in memory, which ECC could not mend"),
	"XID62":  fatal("a microcontroller of the GPU halted"),
	"XID63":  damaged("a row of memory is to be remapped, or a page to be retired, at the next reset"),
	"XID64":  fatal("a row of memory could not be remapped, or a page not be retired"),
	"XID74":  fatal("an error of NVLink"),
	"XID79":  fatal("the GPU has fallen off the bus"),
	"XID92":  {State: v1alpha1.Degraded, Meaning: "many errors of single bits"},
	"XID94":  damaged("an error of memory that was contained in one process"),
	"XID95":  fatal("an error of memory that was not contained"),
	"XID110": fatal("a security fault"),
	"XID119": fatal("the GPU's system processor does not answer"),
	"XID120": fatal("an error of the GPU's system processor"),
	"XID140": fatal("an error of memory that was not recovered"),
	"XID143": fatal("the GPU could not be initialised"),
	// What two bits do to the GPU, an XID tells beside this event of NVML.
	reasonDoubleBit: damaged("an error of memory that ECC could not mend"),
	// Linux, Documentation/gpu/drm-uapi.rst, "Device Wedging".
	reasonWedged: {
		State: v1alpha1.Unhealthy, ClearedBy: Rebooted | Returned,
		Meaning: "the kernel's driver gave the GPU up (WEDGED): bind the driver anew or reset the bus, see dmesg",
	},
}

// harmless are the XIDs of an application's fault, of work that was ended for another error, and those that only announce:
// 154 tells that the recovery action changed, which the next detection reads.
var harmless = map[int64]bool{8: true, 13: true, 31: true, 32: true, 37: true, 43: true, 45: true, 68: true, 69: true, 109: true, 154: true}

// XID returns what an XID means for the GPU; ok is false where it means nothing. One that is not known is taken for
// damage: it may be an application's fault.
func XID(number int64) (signal Signal, ok bool) {
	if harmless[number] {
		return Signal{}, false
	}
	reason := xidPrefix + strconv.FormatInt(number, 10)
	if _, known := signals[reason]; !known {
		return Signal{State: v1alpha1.Degraded, Reason: reason, Meaning: "an error that is not known here; see NVIDIA's XID catalogue"}, true
	}
	return named(reason), true
}

// Reasons of signals: of XIDs before the number.
const (
	xidPrefix       = "XID"
	reasonDoubleBit = "UncorrectableECC"
	reasonWedged    = "Wedged"
)

func named(reason string) Signal {
	signal := signals[reason]
	signal.Reason = reason
	return signal
}

// DoubleBitECC is the event of NVML for an error that ECC could not mend.
func DoubleBitECC() Signal { return named(reasonDoubleBit) }

// Wedged is the kernel's event for a GPU whose driver gave it up: it is used again when the driver was bound anew.
func Wedged() Signal { return named(reasonWedged) }

// health is the health of a device for which the signal came.
func (s Signal) health() v1alpha1.DeviceHealth {
	message := s.Meaning
	if number, isXID := strings.CutPrefix(s.Reason, xidPrefix); isXID {
		message = fmt.Sprintf("XID %s: %s", number, message)
	}
	if s.ClearedBy != 0 {
		message += "; this stays until " + s.ClearedBy.String()
	}
	return v1alpha1.DeviceHealth{State: s.State, Reason: s.Reason, Message: message}
}
