package pci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Check is what the kernel shows of a PCI function's health, whatever device it is.
//
// Sources: Linux, Documentation/ABI/testing/sysfs-bus-pci (power_state, current_link_width, max_link_width, config) and
// sysfs-bus-pci-devices-aer (aer_dev_fatal, aer_dev_nonfatal); PCI Express Base Specification, Link Status Register.
type Check struct {
	// Evidence says what was seen of a function that is well; empty where nothing could be seen.
	Evidence string
	// Fault is set where the function cannot be used.
	Fault v1alpha1.DeviceHealth
	// Counters count errors since the host booted, by the reason of the health that a growing one means.
	Counters map[string]int64
	// Suspicions are what one look alone does not prove.
	Suspicions []v1alpha1.DeviceHealth
	// Rate is of the link, nil where it does not say.
	Rate linkRate
}

// Reasons of health that a PCI function shows: errors that the bus counts, a link that is narrower than it could be, and a device
// that does not answer.
const (
	ReasonFatalErrors    = "PCIFatalErrors"
	ReasonNonFatalErrors = "PCINonFatalErrors"
	reasonLinkNarrow     = "PCILinkNarrow"
	ReasonOffBus         = "OffBus"
	reasonLinkDown       = "PCILinkDown"
	reasonPoweredOff     = "PoweredOff"
)

// allOnes is the width of a link that a function reports which does not answer: every bit of what is read of it is set.
const allOnes = 63

// check looks at a function: six small files where it is well. A function that sleeps is not woken.
func check(files host.Files, function Function) Check {
	switch state, _, _ := host.ReadText(files, path.Join(function.Path, "power_state")); {
	case state != "D3cold":
	case asleep(files, function):
		return Check{}
	default:
		return broken(reasonPoweredOff, "the PCI function has no power (power_state is D3cold) and was not put to sleep: see dmesg and the slot's power")
	}
	check := checkLink(files, function)
	if check.Evidence == "" {
		return check
	}
	check.Counters = map[string]int64{}
	for name, reason := range map[string]string{"aer_dev_fatal": ReasonFatalErrors, "aer_dev_nonfatal": ReasonNonFatalErrors} {
		text, ok, err := host.ReadText(files, path.Join(function.Path, name))
		if count, found := parseAERTotal(text); ok && err == nil && found {
			check.Counters[reason] = count
		}
	}
	return check
}

// asleep says whether the kernel has put the function to sleep, as it does with GPUs that nobody uses.
func asleep(files host.Files, function Function) bool {
	status, ok, err := host.ReadText(files, path.Join(function.Path, "power/runtime_status"))
	return ok && err == nil && (status == "suspended" || status == "suspending" || status == "resuming")
}

// checkLink judges by the width that the link has. Its speed says nothing: GPUs lower it while they are idle. A width of
// 0 is what virtual functions report, so their port is asked.
func checkLink(files host.Files, function Function) Check {
	width, ok, err := host.ReadInt(files, path.Join(function.Path, "current_link_width"))
	switch {
	case err != nil || ok && width == allOnes:
		if silentHeader(files, function) {
			return offBus()
		}
		return Check{}
	case !ok || width > maxLanes || function.LinkWidth == 0:
		return checkHeader(files, function)
	case width == 0:
		return checkPort(files, function)
	}
	check := Check{
		Evidence: "the PCI function answers, its link is up with " + words.Counted(width, "lane"),
		Rate:     readRate(files, function, width),
	}
	if width < int64(function.LinkWidth) && showsPort(files, function) {
		if usable := min(int64(function.LinkWidth), portLanes(files, function, "max_link_width")); width < usable {
			check.Suspicions = []v1alpha1.DeviceHealth{{
				State: v1alpha1.Degraded, Reason: reasonLinkNarrow,
				Message: fmt.Sprintf("the PCI link has %d of the %d lanes that device and port can have: reseat the card, look at its riser or cable", width, usable),
			}}
		}
	}
	return check
}

// checkHeader is for functions without a link: inside a chip, on conventional PCI, or as a hypervisor shows them.
func checkHeader(files host.Files, function Function) Check {
	header, err := files.ReadFile(path.Join(function.Path, "config"))
	switch {
	case err != nil || len(header) == 0:
		return Check{}
	case isSilent(header):
		return offBus()
	default:
		return Check{Evidence: "the PCI function answers"}
	}
}

// checkPort is for a function that reports no lane.
func checkPort(files host.Files, function Function) Check {
	if portLanes(files, function, "current_link_width") == 0 && portLanes(files, function, "max_link_width") > 0 {
		return broken(reasonLinkDown, "the PCI link is down: neither the device nor its port has a lane; reseat the card, see dmesg")
	}
	return checkHeader(files, function)
}

// emulator is the PCI vendor of the ports that QEMU emulates (Red Hat): they have as many lanes as they are told.
const emulator = "1b36"

// showsPort says whether the function is seen behind a port of the machine. In a virtual machine it often is not: the width
// is the machine's below, and nobody here knows how many lanes the slot has there.
func showsPort(files host.Files, function Function) bool {
	port := path.Dir(function.Path)
	vendor, _, _ := host.ReadText(files, path.Join(port, "vendor"))
	return IsAddress(path.Base(port)) && strings.TrimPrefix(vendor, "0x") != emulator
}

// portLanes reads a number of lanes of the port that the function is connected to; the function's own where none shows.
func portLanes(files host.Files, function Function, name string) int64 {
	lanes, ok, err := host.ReadInt(files, path.Join(path.Dir(function.Path), name))
	if !ok || err != nil || lanes < 0 || lanes > maxLanes || lanes == allOnes {
		return int64(function.LinkWidth)
	}
	return lanes
}

func offBus() Check {
	return broken(ReasonOffBus, "the device fell off the PCI bus: its configuration space reads as ones; see dmesg, power-cycle the node")
}

// broken is the check of a function that cannot be used.
func broken(reason, message string) Check {
	return Check{Fault: v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: reason, Message: message}}
}

// silentHeader confirms that a function does not answer.
func silentHeader(files host.Files, function Function) bool {
	header, err := files.ReadFile(path.Join(function.Path, "config"))
	return err == nil && isSilent(header) || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
}

// isSilent says whether every bit of the header is set. Of a virtual function, only the ids are.
func isSilent(header []byte) bool {
	header = header[:min(len(header), host.PCIHeaderSize)]
	return len(header) > 0 && bytes.Count(header, []byte{0xff}) == len(header)
}

// parseAERTotal reads the last line of a counter of AER (`TOTAL_ERR_FATAL 0`).
func parseAERTotal(text string) (total int64, ok bool) {
	for name, number := range host.Pairs(text, " ") {
		if strings.HasPrefix(name, "TOTAL_ERR_") {
			count, err := strconv.ParseInt(number, 10, 64)
			return max(count, 0), err == nil && count >= 0
		}
	}
	return 0, false
}

// patience is what the checks of all functions may take together.
const patience = 5 * time.Second

// Checks looks at the functions with the addresses. A read that hangs, as of a bus that is being reset, is left
// behind: nothing is known then.
func Checks(ctx context.Context, h *host.Host, addresses map[string]bool) map[string]Check {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan map[string]Check, 1)
	go func() {
		checks := map[string]Check{}
		functions, _ := Functions(h) // what cannot be listed cannot be checked
		for _, function := range functions {
			if addresses[function.Address] {
				checks[function.Address] = check(h.Files, function)
			}
		}
		done <- checks
	}()
	select {
	case checks := <-done:
		return checks
	case <-ctx.Done():
		return nil
	}
}

// linkRate is what a PCI link can carry in one direction, in MB/s: now, and at most.
type linkRate struct{ Now, Most *int64 }

// readRate reads the rate of a function's link that has so many lanes now. At most it is what the slower of its ends can do:
// the function and the port that it is connected to (Linux, Documentation/ABI/testing/sysfs-bus-pci: current_link_speed,
// max_link_speed, max_link_width).
func readRate(files host.Files, function Function, lanes int64) linkRate {
	now := v1alpha1.PCIDevice{LinkMTps: readLinkRate(files, function.Path, "current_link_speed"), LinkWidth: int32(lanes)}
	most := v1alpha1.PCIDevice{LinkMTps: function.LinkMTps, LinkWidth: min(function.LinkWidth, int32(portLanes(files, function, "max_link_width")))}
	if port := readLinkRate(files, path.Dir(function.Path), "max_link_speed"); port > 0 {
		most.LinkMTps = min(most.LinkMTps, port)
	}
	return linkRate{Now: positive(now.LinkMBps()), Most: positive(most.LinkMBps())}
}

// positive is the number; nil where it is 0, which stands for what is not known.
func positive(number int64) *int64 {
	if number <= 0 {
		return nil
	}
	return &number
}
