package generic

import (
	"regexp"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// anID is an id that the API takes.
var anID = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9.:_-]{0,95}$`)

func FuzzWMI(f *testing.F) {
	f.Add([]byte(workstation))
	f.Add([]byte(`{"PNPDeviceID":"PCI\\VEN_1002&DEV_744C&SUBSYS_0E3B1002&REV_C8\\6&0&1","MemorySize":[0,0,0,0,6,0,0,0]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		adapters, _ := parseWMI(text)
		for i := range adapters {
			device, ok := adapters[i].device()
			if !ok {
				continue
			}
			if !anID.MatchString(string(device.ID)) || device.Vendor == "" {
				t.Errorf("%q of %q", device.ID, device.Vendor)
			}
			if m := device.Memory; m != nil && (m.TotalMiB < 1 || m.TotalMiB > backend.MaxMemoryMiB) {
				t.Errorf("%+v", m)
			}
		}
	})
}
