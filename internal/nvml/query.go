package nvml

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// QueryOptions say what to ask for and how long to wait.
type QueryOptions struct {
	// Library to load; empty means the loader's choice.
	Library string
	// Known are addresses of GPUs that the driver lists: what NVML hands out no handle for by its number is asked for by
	// address, so that it is known which one is lost.
	Known []string
	// Patience is what one GPU may take to answer; the others are told without it.
	Patience time.Duration
}

// Query asks NVML for everything. What cannot be asked is told in the document.
func Query(options QueryOptions) report.Host {
	library, err := load(options.Library)
	if err != nil {
		kind := report.BadLibrary
		if errors.Is(err, errNoLibrary) {
			kind = report.NoLibrary
		}
		return report.Host{Problem: &report.Problem{Kind: kind, Message: err.Error()}}
	}
	host := report.Host{Library: library.Name, Missing: library.Missing}
	if result := library.initialize(); result != codeSuccess {
		host.Problem = &report.Problem{Kind: report.NoDriver, Message: failure("nvmlInit_v2", result).Error()}
		return host
	}
	var buffer [textSize]byte
	if library.systemDriverVersion(&buffer[0], textSize) == codeSuccess {
		host.DriverVersion = cString(buffer[:])
	}
	var version int32
	if library.systemCUDAVersion(&version) == codeSuccess {
		host.CUDAVersion = fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	}
	readers, unaddressed := library.readers(options.Known)
	host.Unaddressed = unaddressed
	host.GPUs = readAll(readers, options.Patience)
	slices.SortFunc(host.GPUs, func(a, b report.GPU) int { return cmp.Compare(a.Key(), b.Key()) })
	return host
}

// readers finds the GPUs, by number and then by address.
func (l *Library) readers(known []string) (readers []*gpuReader, unaddressed []report.Fault) {
	var count uint32
	if result := l.count(&count); result != codeSuccess {
		return nil, []report.Fault{fault("nvmlDeviceGetCount_v2", result)}
	}
	found := map[string]bool{}
	for index := range min(count, report.MaxGPUs) {
		reader, failed := l.open(index)
		if failed != nil {
			unaddressed = append(unaddressed, *failed)
			continue
		}
		if key := reader.gpu.Key(); !found[key] {
			found[key] = true
			readers = append(readers, reader)
		}
	}
	for _, address := range known {
		if found[address] || len(readers) >= report.MaxGPUs {
			continue
		}
		reader := &gpuReader{Library: l, gpu: &report.GPU{PCI: address}}
		switch result := l.byBusID(address, &reader.handle); result {
		case codeSuccess:
		case codeNotFound, codeInvalidArgument, codeFunctionMissing:
			continue
		default:
			reader.gpu.Faults = []report.Fault{fault("nvmlDeviceGetHandleByPciBusId_v2", result)}
			// What is known by its address now is not to be told as one of the unknown ones, too.
			same := slices.IndexFunc(unaddressed, func(f report.Fault) bool { return f.Code == int64(result) })
			if same >= 0 {
				unaddressed = slices.Delete(unaddressed, same, same+1)
			}
		}
		found[address] = true
		readers = append(readers, reader)
	}
	return readers, unaddressed
}

func (l *Library) open(index uint32) (*gpuReader, *report.Fault) {
	reader := &gpuReader{Library: l, gpu: &report.GPU{}}
	if result := l.byIndex(index, &reader.handle); result != codeSuccess {
		return nil, new(fault("nvmlDeviceGetHandleByIndex_v2", result))
	}
	var info pciInfo
	result := l.pci(reader.handle, &info)
	if address, ok := report.Address(cString(info.BusID[:])); ok && result == codeSuccess {
		reader.gpu.PCI = address
		return reader, nil
	}
	if result != codeSuccess && result != codeNotSupported {
		return nil, new(fault("nvmlDeviceGetPciInfo_v3", result))
	}
	// An integrated GPU need not be on a PCI bus: its UUID tells it then.
	if reader.gpu.UUID = reader.text("nvmlDeviceGetUUID", l.uuid); reader.gpu.UUID == "" {
		return nil, &report.Fault{Call: "nvmlDeviceGetPciInfo_v3", Code: report.CodeUnknown, Text: fmt.Sprintf("no address: %q", cString(info.BusID[:]))}
	}
	return reader, nil
}

// readAll asks all GPUs at the same time. One that does not answer in time is told by its address and that fault only.
func readAll(readers []*gpuReader, patience time.Duration) []report.GPU {
	answers := make([]chan report.GPU, len(readers))
	known := make([]report.GPU, len(readers))
	for i, reader := range readers {
		answers[i] = make(chan report.GPU, 1)
		known[i] = report.GPU{PCI: reader.gpu.PCI, UUID: reader.gpu.UUID}
		go func() {
			if reader.handle != 0 {
				reader.read()
			}
			answers[i] <- *reader.gpu
		}()
	}
	late, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	gpus := make([]report.GPU, len(readers))
	for i := range readers {
		select {
		case gpus[i] = <-answers[i]:
			continue
		case <-late.Done():
		}
		select { // it may have answered while another was waited for
		case gpus[i] = <-answers[i]:
		default:
			gpus[i] = known[i]
			gpus[i].Faults = []report.Fault{{
				Call: "nvml", Code: report.CodeNoAnswer, Text: fmt.Sprintf("no answer within %v", patience),
			}}
		}
	}
	return gpus
}
