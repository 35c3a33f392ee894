package nvml

import (
	"testing"
	"unsafe"
)

// A C compiler gives the structs of nvml.h these sizes on amd64 and arm64.
func TestLayouts(t *testing.T) {
	tests := map[string]struct{ got, want uintptr }{
		"nvmlPciInfo_t":                {unsafe.Sizeof(pciInfo{}), 68},
		"nvmlMemory_t":                 {unsafe.Sizeof(memory{}), 24},
		"nvmlMemory_v2_t":              {unsafe.Sizeof(memory2{}), 40},
		"nvmlDeviceAttributes_t":       {unsafe.Sizeof(attributes{}), 40},
		"nvmlEccSramErrorStatus_v1_t":  {unsafe.Sizeof(sramErrors{}), 104},
		"nvmlGpuFabricInfo_t":          {unsafe.Sizeof(fabricInfo{}), 28},
		"nvmlGpuFabricInfo_v2_t":       {unsafe.Sizeof(fabricInfo2{}), 36},
		"nvmlGpuFabricInfo_v3_t":       {unsafe.Sizeof(fabricInfo3{}), 40},
		"v3's healthSummary":           {unsafe.Offsetof(fabricInfo3{}.HealthSummary), 36},
		"nvmlFieldValue_t":             {unsafe.Sizeof(fieldValue{}), 40},
		"nvmlFieldValue_t's value":     {unsafe.Offsetof(fieldValue{}.Value), 32},
		"nvmlEventData_t":              {unsafe.Sizeof(eventData{}), 32},
		"the version of nvmlMemory_v2": {uintptr(structVersion[memory2](2)), 2<<24 | 40},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %d, want %d", name, test.got, test.want)
		}
	}
}

func TestFieldValues(t *testing.T) {
	const bits = 0xffffffff_80000001
	tests := map[uint32]int64{1: 0x80000001, 2: -0x7fffffff, 3: -0x7fffffff, 4: -0x7fffffff, 5: -0x7fffffff, 6: 1}
	for kind, want := range tests {
		if got, ok := (fieldValue{ValueType: kind, Value: bits}).integer(); !ok || got != want {
			t.Errorf("type %d: %#x, %v, want %#x", kind, got, ok, want)
		}
	}
	if _, ok := (fieldValue{ValueType: 0, Value: bits}).integer(); ok {
		t.Error("a double is taken for an integer")
	}
}

// Names of profiles as NVIDIA's MIG user guide has them, by the memory that the devices report.
func TestProfileNames(t *testing.T) {
	tests := []struct {
		gpu, compute uint32
		mib, total   int64
		want         string
	}{
		{1, 1, 9984, 81559, "1g.10gb"},
		{2, 2, 20096, 81559, "2g.20gb"},
		{3, 3, 40448, 81559, "3g.40gb"},
		{3, 1, 40448, 81559, "1c.3g.40gb"},
		{7, 7, 81008, 81559, "7g.80gb"},
		{1, 1, 4864, 40960, "1g.5gb"},
		{3, 3, 19968, 40960, "3g.20gb"},
		{1, 1, 5952, 24576, "1g.6gb"},
		{0, 0, 5952, 24576, ""},
	}
	for _, test := range tests {
		share := attributes{GPUInstanceSlices: test.gpu, ComputeInstanceSlices: test.compute, MemoryMiB: uint64(test.mib)}
		if got := profileName(share, test.total); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
