package nvml

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// Event types of nvml.h.
const (
	eventSingleBitECC uint64 = 0x1
	eventDoubleBitECC uint64 = 0x2
	eventXID          uint64 = 0x8
)

var eventTypes = map[uint64]string{eventSingleBitECC: report.SingleBitECC, eventDoubleBitECC: report.DoubleBitECC, eventXID: report.XID}

// noInstance is what the library says where an event belongs to no MIG device.
const noInstance = 0xffffffff

// Events calls tell when it watches, then for every event of any GPU until the context ends or waiting fails. The library waits for at most
// patience at a time, so that the end of the context is noticed.
func Events(ctx context.Context, libraryName string, patience time.Duration, tell func(report.Event) error) error {
	library, err := load(libraryName)
	if err != nil {
		return err
	}
	if result := library.initialize(); result != codeSuccess {
		return failure("nvmlInit_v2", result)
	}
	set, addresses, err := library.register()
	if err != nil {
		return err
	}
	if err := tell(report.Event{Type: report.Watching}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var data eventData
		switch result := library.eventSetWait(set, &data, uint32(patience.Milliseconds())); result {
		case codeSuccess:
			if err := tell(newEvent(data, addresses)); err != nil {
				return err
			}
		case codeTimeout:
		default:
			return failure("nvmlEventSetWait_v2", result)
		}
	}
	return nil
}

// register asks for the events of every GPU that has any, and returns the GPUs' addresses by their handles.
func (l *Library) register() (eventSet, map[device]string, error) {
	if slices.ContainsFunc(l.Missing, func(symbol string) bool { return strings.Contains(symbol, "Event") }) {
		return 0, nil, errors.New("the library has no events: the driver is too old")
	}
	var set eventSet
	if result := l.eventSetCreate(&set); result != codeSuccess {
		return 0, nil, failure("nvmlEventSetCreate", result)
	}
	readers, _ := l.readers(nil)
	addresses := map[device]string{}
	registered := 0
	for _, reader := range readers {
		addresses[reader.handle] = reader.gpu.PCI
		var supported uint64
		if l.eventsSupported(reader.handle, &supported) != codeSuccess {
			continue
		}
		wanted := supported & (eventXID | eventDoubleBitECC | eventSingleBitECC)
		if wanted != 0 && l.eventsRegister(reader.handle, wanted, set) == codeSuccess {
			registered++
		}
	}
	if registered == 0 {
		return 0, nil, fmt.Errorf("none of %d GPUs reports events", len(readers))
	}
	return set, addresses, nil
}

func newEvent(data eventData, addresses map[device]string) report.Event {
	event := report.Event{PCI: addresses[data.Device], Type: eventTypes[data.Type]}
	if event.Type == "" {
		event.Type = fmt.Sprintf("0x%x", data.Type)
	}
	if data.Type == eventXID {
		event.XID = new(int64(data.Data))
	}
	event.GPUInstance, event.ComputeInstance = instance(data.GPUInstance), instance(data.ComputeInstance)
	return event
}

func instance(id uint32) *int32 {
	if id == noInstance {
		return nil
	}
	return new(int32(id))
}

func failure(call string, result code) error {
	f := fault(call, result)
	return fmt.Errorf("%s: %s", f.Call, f.Text)
}
