package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

// windows is a host without a sysfs whose PowerShell prints the adapters.
func windows(t *testing.T, output string) *host.Host {
	t.Helper()
	recording := host.NewRecording()
	if err := recording.AddFolder(host.WindowsFolder); err != nil {
		t.Fatal(err)
	}
	if err := recording.AddCommand(host.CommandResult{Stdout: []byte(output)}, wmiQuery...); err != nil {
		t.Fatal(err)
	}
	return recording.Host()
}

// workstation is what a workstation with a GeForce beside the processor's graphics prints, and what is no card; fields
// as Microsoft documents Win32_VideoController, values made up but for ids and names.
const workstation = `[
 {"Name":"NVIDIA GeForce RTX 4090","PNPDeviceID":"PCI\\VEN_10DE&DEV_2684&SUBSYS_889D1043&REV_A1\\4&2283F625&0&0008","AdapterRAM":4293918720,"DriverVersion":"32.0.15.7652","Status":"OK","ErrorCode":0,
  "Location":"@System32\\drivers\\pci.sys,#65536;PCI bus %1, device %2, function %3;(1,0,0)","MemorySize":25757220864},
 {"Name":"Intel(R) UHD Graphics 770","PNPDeviceID":"PCI\\VEN_8086&DEV_A780&SUBSYS_88821043&REV_04\\3&11583659&0&10","AdapterRAM":1073741824,"DriverVersion":"31.0.101.5186","Status":"OK","ErrorCode":0,
  "Location":"@System32\\drivers\\pci.sys,#65536;PCI bus %1, device %2, function %3;(0,2,0)","MemorySize":[0,0,0,8,0,0,0,0]},
 {"Name":"Microsoft Remote Display Adapter","PNPDeviceID":"SWD\\REMOTEDISPLAYENUM\\RDPIDD_INDIRECTDISPLAY&SESSIONID_0001","AdapterRAM":null,"DriverVersion":"10.0.22621.1","Status":"OK","ErrorCode":0,"Location":null,"MemorySize":null},
 {"Name":"Microsoft Basic Display Adapter","PNPDeviceID":"ROOT\\BASICDISPLAY\\0000","AdapterRAM":null,"Status":"OK","ErrorCode":0},
 {"Name":"Microsoft Hyper-V Video","PNPDeviceID":"VMBUS\\{DA0A7802-E377-4AAC-8E77-0558EB1073F8}\\5","Status":"OK","ErrorCode":0}
]`

// One card is one device, by its PCI ids and place; a second one beside it is seen; a 32-bit size is not believed.
func TestWMIWorkstation(t *testing.T) {
	found := probe.Detect(t, windows(t, "\uFEFF"+workstation+"\r\n"), WMI())
	var got []string
	for _, d := range found.Devices {
		got = append(got, fmt.Sprintf("%s %q %d MiB (%s) %s %s:%s %s", d.ID, d.Product, d.Memory.TotalMiB, d.Memory.Source, d.DriverVersion, d.PCI.SubsystemVendorID, d.PCI.SubsystemDeviceID, d.Health.State))
	}
	want := []string{
		`nvidia-0000:01:00.0 "NVIDIA GeForce RTX 4090" 24564 MiB (Driver) 32.0.15.7652 1043:889d Healthy`,
		`intel-0000:00:02.0 "Intel(R) UHD Graphics 770" 128 MiB (Driver) 31.0.101.5186 1043:8882 Healthy`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWMIMemory(t *testing.T) {
	const known, unknown = "DEV_2684", "DEV_FFFF"
	for name, test := range map[string]struct {
		device, adapterRAM, memorySize string
		want                           *v1alpha1.DeviceMemory
	}{
		"the driver's":                   {known, "4293918720", "25757220864", &v1alpha1.DeviceMemory{TotalMiB: 24564, Source: v1alpha1.SourceDriver}},
		"the catalogue's":                {known, "4293918720", "null", &v1alpha1.DeviceMemory{TotalMiB: 24564, Source: v1alpha1.SourceCatalogue}},
		"nobody's at the end of 32 bits": {unknown, "4293918720", "null", nil},
		"nobody's at their last value":   {unknown, "4294967295", "null", nil},
		"small enough for 32 bits":       {unknown, "2147483648", "null", &v1alpha1.DeviceMemory{TotalMiB: 2048, Source: v1alpha1.SourceDriver}},
		"a size that cannot be":          {unknown, "0", "9223372036854775807", nil},
		"no number":                      {unknown, "0", `"24 GB"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			output := fmt.Sprintf(`{"Name":"Card","PNPDeviceID":"PCI\\VEN_10DE&%s&SUBSYS_889D1043&REV_A1\\4&2283F625&0&0008","AdapterRAM":%s,"MemorySize":%s}`, test.device, test.adapterRAM, test.memorySize)
			devices := probe.Detect(t, windows(t, output), WMI()).Devices
			if len(devices) != 1 || devices[0].ID != "nvidia-4.2283F625.0.0008" {
				t.Fatalf("got %+v", devices)
			}
			if diff := cmp.Diff(test.want, devices[0].Memory); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWMIHealth(t *testing.T) {
	code := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		adapter wmiAdapter
		want    v1alpha1.HealthState
	}{
		"works":        {wmiAdapter{Status: "OK", ErrorCode: code(0)}, v1alpha1.Healthy},
		"disabled":     {wmiAdapter{Status: "OK", ErrorCode: code(22)}, v1alpha1.Unhealthy},
		"in error":     {wmiAdapter{Status: "Error", ErrorCode: code(43)}, v1alpha1.Unhealthy},
		"says nothing": {wmiAdapter{}, v1alpha1.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.adapter.health(); got.State != test.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestWMIFails(t *testing.T) {
	if _, err := WMI().Detect(t.Context(), windows(t, "Get-CimInstance : Access denied")); err == nil || !strings.Contains(err.Error(), "Win32_VideoController") {
		t.Errorf("got %v", err)
	}
}
