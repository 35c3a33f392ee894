package host

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func TestSharedMemoryIsSaidAsSuch(t *testing.T) {
	sharing := func(id v1alpha1.DeviceID, carveOut, host int64) v1alpha1.Device {
		return v1alpha1.Device{ID: id, Memory: &v1alpha1.DeviceMemory{TotalMiB: 98304, Shared: &v1alpha1.SharedMemory{CarveOutMiB: carveOut, HostMiB: host}}}
	}
	for name, test := range map[string]struct {
		devices []v1alpha1.Device
		want    string
	}{
		"memory of its own": {[]v1alpha1.Device{{ID: "nvidia-0", Memory: &v1alpha1.DeviceMemory{TotalMiB: 81559}}, {ID: "arm-0"}}, ""},
		"set aside and the host's": {
			[]v1alpha1.Device{sharing("amd-0000:c1:00.0", 98304, 16384)},
			"\nMemory shared with the host: 96.0 GiB set aside by the firmware, 16.0 GiB of the host's\n  amd-0000:c1:00.0\n",
		},
		"the host's alone": {[]v1alpha1.Device{sharing("nvidia-gpu0", 0, 122566)}, "\nMemory shared with the host: 119.7 GiB of the host's\n  nvidia-gpu0\n"},
		"no size":          {[]v1alpha1.Device{sharing("arm-gpu0", 0, 0)}, "\nMemory shared with the host: how much is not known\n  arm-gpu0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out term.Page
			printShared(&out, test.devices)
			if out.String() != test.want {
				t.Errorf("got %q, want %q", out.String(), test.want)
			}
		})
	}
}
