package detect_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/google"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// Any /dev/accelN was a TPU of one v5e chip.
func TestAccelNodeOfAnotherVendorIsNoTPU(t *testing.T) {
	h := compose.New("accel")
	for i, ids := range []string{"1022:17f0 1022:17f0", "1da3:1020 1da3:0000", "8086:7d1d 8086:0000", "1ae0:0042 1ae0:0058"} {
		f := compose.Function{Place: fmt.Sprintf("pci0000:00/0000:00:%02x.0", 4+i), IDs: ids, Class: "120000", Revision: "00", Driver: "some", NUMA: -1}
		h.PCI(f)
		name := fmt.Sprint("accel", i)
		h.Link(f.Folder()+"/accel/"+name+"/device", "../../../"+f.Address())
		h.Link("/sys/class/accel/"+name, "../../devices/"+f.Place+"/accel/"+name)
		h.Device("/dev/" + name)
	}
	if status := withoutTools(t, h, google.TPU()); len(status.Devices) != 0 {
		t.Errorf("got %+v", status.Devices)
	}
}

// Generation and number of chips were read from attributes that no driver has; what lacked them was a v5e.
func TestTPUGenerationIsItsPCIID(t *testing.T) {
	h := compose.New("v5p")
	h.PCI(compose.Function{
		Place: "pci0000:00/0000:00:04.0", IDs: "1ae0:0062 1ae0:0000", Class: "ff0000", Revision: "00", Driver: "vfio-pci", NUMA: -1,
		Extra: map[string]string{"tpu_version": "v4", "chip_count": "256"},
	})
	d := compose.OnlyDevice(t, withoutTools(t, h, google.TPU()))
	if d.Architecture != "v5p" || d.Memory.TotalMiB != 95<<10 {
		t.Errorf("got %s with %+v", d.Architecture, d.Memory)
	}
}

// TPUs that VFIO passes to user space, which is all since v5e, were not found.
func TestTPUBehindVFIOIsFound(t *testing.T) {
	status := detect.Detect(t.Context(), compose.Recorded(t, "google-v5p-4.tar.gz"), detect.Options{}).Status
	if len(status.Devices) != 4 || !slices.Contains(status.Devices[0].Paths, "/dev/vfio/0") {
		t.Errorf("got %+v", status.Devices)
	}
}
