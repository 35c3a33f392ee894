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

// xids are the errors of NVIDIA's driver that say something of the GPU. Source: NVIDIA, XID Errors, "Analyzing Xid Errors
// with the Xid Catalog" (docs.nvidia.com/deploy/xid-errors), and "Dynamic Page Retirement" and "GPU Memory Error
// Management" there; those are fatal whose immediate action is a reset, a reboot or a workflow that ends in one.
var xids = map[int64]Signal{
	46:  fatal("the GPU stopped processing"),
	48:  fatal("an error of two bits in memory, which ECC could not mend"),
	62:  fatal("a microcontroller of the GPU halted"),
	63:  damaged("a row of memory is to be remapped, or a page to be retired, at the next reset"),
	64:  fatal("a row of memory could not be remapped, or a page not be retired"),
	74:  fatal("an error of NVLink"),
	79:  fatal("the GPU has fallen off the bus"),
	92:  {State: v1alpha1.Degraded, Meaning: "many errors of single bits"},
	94:  damaged("an error of memory that was contained in one process"),
	95:  fatal("an error of memory that was not contained"),
	110: fatal("a security fault"),
	119: fatal("the GPU's system processor does not answer"),
	120: fatal("an error of the GPU's system processor"),
	140: fatal("an error of memory that was not recovered"),
	143: fatal("the GPU could not be initialised"),
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
	signal, known := xids[number]
	if !known {
		signal = Signal{State: v1alpha1.Degraded, Meaning: "an error that is not known here; see NVIDIA's XID catalogue"}
	}
	signal.Reason = xidPrefix + strconv.FormatInt(number, 10)
	return signal, true
}

const xidPrefix = "XID"

// Reasons of other signals.
const (
	reasonDoubleBit = "UncorrectableECC"
	reasonWedged    = "Wedged"
)

// DoubleBitECC is the event of NVML for an error that ECC could not mend. What it does to the GPU, an XID tells.
func DoubleBitECC() Signal {
	signal := damaged("an error of memory that ECC could not mend")
	signal.Reason = reasonDoubleBit
	return signal
}

// Wedged is the kernel's event for a GPU whose driver gave it up (Linux, Documentation/gpu/drm-uapi.rst, "Device
// Wedging"): it is used again when the driver was bound anew.
func Wedged() Signal {
	return Signal{
		State: v1alpha1.Unhealthy, Reason: reasonWedged, ClearedBy: Rebooted | Returned,
		Meaning: "the kernel's driver gave the GPU up (WEDGED): bind the driver anew or reset the bus, see dmesg",
	}
}

// Health returns the health of a device for which the signal came.
func (s Signal) Health() v1alpha1.DeviceHealth {
	message := s.Meaning
	if number, isXID := strings.CutPrefix(s.Reason, xidPrefix); isXID {
		message = fmt.Sprintf("XID %s: %s", number, message)
	}
	if s.ClearedBy != 0 {
		message += "; this stays until " + s.ClearedBy.String()
	}
	return v1alpha1.DeviceHealth{State: s.State, Reason: s.Reason, Message: message}
}

// clearedBy returns what ends the fault of a published reason; 0 where looking well does.
func clearedBy(reason string) Evidence {
	switch reason {
	case reasonDoubleBit:
		return DoubleBitECC().ClearedBy
	case reasonWedged:
		return Wedged().ClearedBy
	}
	digits, isXID := strings.CutPrefix(reason, xidPrefix)
	number, err := strconv.ParseInt(digits, 10, 32)
	if !isXID || err != nil {
		return 0
	}
	signal, _ := XID(number)
	return signal.ClearedBy
}
