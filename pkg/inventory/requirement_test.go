package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestRequirements(t *testing.T) {
	tests := map[string]struct {
		selects []string
		missing string
	}{
		"none":          {[]string{"cpu", "core0", "core1", "npu", "gaudi", "h0", "h1", "t4"}, ""},
		"any":           {[]string{"core0", "core1", "npu", "gaudi", "h0", "h1", "t4"}, ""},
		"Any>=6":        {[]string{"core0", "core1", "npu", "gaudi", "h0", "h1", "t4"}, "6 accelerators needed, 5 usable, not usable: intel-0000:00:0b.0 (Unknown DriverMissing), nvidia-0000:02:00.0 (Unhealthy Xid79)"},
		"gpu":           {[]string{"h0", "h1", "t4"}, ""},
		"gpu >= 3":      {[]string{"h0", "h1", "t4"}, "3 GPUs needed, 2 usable, not usable: nvidia-0000:02:00.0 (Unhealthy Xid79)"},
		"tpu":           {[]string{"core0", "core1"}, ""},
		"tpu>=2":        {[]string{"core0", "core1"}, "2 TPU chips needed, 1 usable"},
		"NPU":           {[]string{"npu"}, "1 NPU needed, 0 usable, not usable: intel-0000:00:0b.0 (Unknown DriverMissing)"},
		"ASIC":          {[]string{"gaudi"}, ""},
		"gaudi":         {[]string{"gaudi"}, ""},
		"neuron":        {[]string{}, "1 Neuron device needed, 0 usable"},
		"gpu|tpu":       {[]string{"core0", "core1", "h0", "h1", "t4"}, ""},
		"GPUOrTPU>=4":   {[]string{"core0", "core1", "h0", "h1", "t4"}, ""},
		"npu | neuron":  {[]string{"npu"}, "1 NPU needed, 0 usable, not usable: intel-0000:00:0b.0 (Unknown DriverMissing); or 1 Neuron device needed, 0 usable"},
		"neuron|gpu>=2": {[]string{"h0", "h1", "t4"}, ""},
	}
	devices := mixed().Status.Devices
	for text, test := range tests {
		t.Run(text, func(t *testing.T) {
			requirement, err := ParseRequirement(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.selects, short(Pick(devices, requirement.Selects()))); diff != "" {
				t.Errorf("selects (-want +got):\n%s", diff)
			}
			if got := requirement.Missing(devices); got != test.missing {
				t.Errorf("missing %q, want %q", got, test.missing)
			}
		})
	}
}

func TestARequirementNamesFewUnusableDevices(t *testing.T) {
	var devices []v1alpha1.Device
	for _, id := range []v1alpha1.DeviceID{"amd-1", "amd-2", "amd-3", "amd-4", "amd-5", "amd-6"} {
		devices = append(devices, v1alpha1.Device{ID: id, Vendor: "amd", Family: v1alpha1.FamilyGPU})
	}
	requirement, err := ParseRequirement("gpu")
	if err != nil {
		t.Fatal(err)
	}
	want := "1 GPU needed, 0 usable, not usable: amd-1 (), amd-2 (), amd-3 (), amd-4 (), 2 more"
	if got := requirement.Missing(devices); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestErrorsOfRequirements(t *testing.T) {
	tests := map[string]string{
		"":                          `position 1: unknown requirement "": use one of none, any, gpu, tpu, npu, asic, GPUOrTPU, gaudi, cuda, rocm, neuron`,
		"gpux":                      `position 1: unknown requirement "gpux"`,
		"gpu| tpux":                 `position 6: unknown requirement "tpux"`,
		"gpu|":                      `position 5: unknown requirement ""`,
		"gpu>4":                     `position 1: unknown requirement "gpu>4"`,
		"gpu>=":                     `position 6: number "" of gpu: write a whole number from 1 to 100000`,
		"gpu>=0":                    `position 6: number "0"`,
		"tpu>= -1":                  `position 7: number "-1"`,
		"tpu>=4.5":                  `number "4.5"`,
		"gpu>=1e9":                  `number "1e9"`,
		"none>=2":                   "position 7: none has no number: leave it out",
		"gpu>=1>=2":                 `number "1>=2"`,
		"tpu>=99999999999999999999": `number "99999999999999999999"`,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			if _, err := ParseRequirement(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func FuzzParseRequirement(f *testing.F) {
	for _, text := range []string{"gpu", "tpu>=8", "gpu|tpu", "none", "gaudi>=8|gpu>=4", "GPUOrTPU", "|", "any>=>="} {
		f.Add(text)
	}
	devices := mixed().Status.Devices
	f.Fuzz(func(t *testing.T, text string) {
		requirement, err := ParseRequirement(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "position ") {
				t.Errorf("%q: no position in %v", text, err)
			}
			return
		}
		if requirement.Missing(devices) == "" && len(Pick(devices, requirement.Selects())) == 0 {
			t.Errorf("%q is met by no device at all", text)
		}
	})
}
