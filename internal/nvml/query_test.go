package nvml

import (
	"testing"
	"unsafe"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// An integrated GPU need not have an address: then its UUID tells it from others, and a GPU that has neither is not handed out.
func TestGPUsWithoutAnAddress(t *testing.T) {
	uuids := []string{"GPU-0", "GPU-1", ""}
	library := &Library{functions: functions{
		count:   func(n *uint32) code { *n = uint32(len(uuids)); return codeSuccess },
		byIndex: func(index uint32, handle *device) code { *handle = device(index + 1); return codeSuccess },
		pci:     func(device, *pciInfo) code { return codeNotSupported },
		uuid: func(d device, text *byte, size uint32) code {
			copy(unsafe.Slice(text, size), uuids[d-1])
			return codeSuccess
		},
	}}
	readers, unaddressed := library.readers(nil)
	if len(readers) != 2 || readers[0].gpu.Key() != "GPU-0" || readers[1].gpu.Key() != "GPU-1" {
		t.Errorf("%d GPUs", len(readers))
	}
	if len(unaddressed) != 1 || unaddressed[0].Code != report.CodeUnknown {
		t.Errorf("%+v", unaddressed)
	}
}
