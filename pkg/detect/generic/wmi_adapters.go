package generic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// wmiScript prints the adapters as a list in JSON, each with what the registry has under its own key and its driver's.
const wmiScript = `$ErrorActionPreference='SilentlyContinue'; ConvertTo-Json -Compress -InputObject @(` +
	`Get-CimInstance Win32_VideoController | ForEach-Object { ` +
	`$d = Get-ItemProperty ('HKLM:\SYSTEM\CurrentControlSet\Enum\' + $_.PNPDeviceID); ` +
	`$c = Get-ItemProperty ('HKLM:\SYSTEM\CurrentControlSet\Control\Class\' + $d.Driver); ` +
	`[pscustomobject]@{Name=$_.Name; PNPDeviceID=$_.PNPDeviceID; AdapterRAM=$_.AdapterRAM; DriverVersion=$_.DriverVersion; ` +
	`Status=$_.Status; ErrorCode=$_.ConfigManagerErrorCode; Location=$d.LocationInformation; ` +
	`MemorySize=$c.'HardwareInformation.qwMemorySize'} })`

var wmiQuery = []string{"powershell", "-NoProfile", "-NonInteractive", "-Command", wmiScript}

// wmiAdapter is an element of the list that wmiScript prints.
type wmiAdapter struct {
	Name, PNPDeviceID, DriverVersion, Status, Location string
	// AdapterRAM is in bytes, in 32 bits.
	AdapterRAM int64
	// ErrorCode is the Device Manager's error code: 0 where the device works.
	ErrorCode  *int64
	MemorySize registryNumber
}

// registryNumber is a REG_QWORD, or the eight bytes of a REG_BINARY, which some drivers write instead.
type registryNumber uint64

// UnmarshalJSON takes anything: what is no such number is 0.
func (n *registryNumber) UnmarshalJSON(data []byte) error {
	*n = 0
	var octets []uint8Number
	if json.Unmarshal(data, &octets) == nil && len(octets) == 8 {
		for i, octet := range octets {
			*n |= registryNumber(octet) << (8 * i)
		}
	} else if value, err := strconv.ParseUint(string(data), 10, 64); err == nil {
		*n = registryNumber(value)
	}
	if *n > math.MaxInt64 {
		*n = 0
	}
	return nil
}

// uint8Number is a byte that JSON has as a number; encoding/json would read a []uint8 as base64.
type uint8Number uint8

// parseWMI reads the list; PowerShell prints a byte order mark, or a single object, in some versions.
func parseWMI(output []byte) ([]wmiAdapter, error) {
	output = bytes.TrimSpace(bytes.TrimPrefix(output, []byte("\uFEFF")))
	if len(output) == 0 || bytes.Equal(output, []byte("null")) {
		return nil, nil
	}
	if output[0] == '{' {
		output = append(append([]byte{'['}, output...), ']')
	}
	var adapters []wmiAdapter
	if err := json.Unmarshal(output, &adapters); err != nil {
		return nil, err
	}
	return adapters[:min(len(adapters), backend.MaxDevices)], nil
}

// pnpDevice matches `PCI\VEN_10DE&DEV_2684&SUBSYS_889D1043&REV_A1\4&2283F625&0&0019`: of the subsystem the device comes
// before the vendor.
var pnpDevice = regexp.MustCompile(`^PCI\\VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})&SUBSYS_([0-9A-F]{4})([0-9A-F]{4})&REV_([0-9A-F]{2})\\([0-9A-Za-z&._-]{1,60})$`)

// parsePNPDeviceID reads ids, and the name of the instance in characters that an id may have.
func parsePNPDeviceID(text string) (ids v1alpha1.PCIDevice, instance string, ok bool) {
	match := pnpDevice.FindStringSubmatch(strings.ToUpper(text))
	if match == nil {
		return ids, "", false
	}
	for i := 1; i <= 5; i++ {
		match[i] = strings.ToLower(match[i])
	}
	ids = v1alpha1.PCIDevice{
		VendorID: match[1], DeviceID: match[2], SubsystemDeviceID: match[3], SubsystemVendorID: match[4], Revision: match[5],
	}
	return ids, strings.ReplaceAll(match[6], "&", "."), true
}

// pnpLocation matches the end of `@System32\drivers\pci.sys,#65536;PCI bus %1, device %2, function %3;(1,0,0)`.
var pnpLocation = regexp.MustCompile(`PCI bus .*;\((\d{1,3}),(\d{1,2}),(\d)\)$`)

// parsePNPLocation reads a PCI address, of the only domain that Windows shows.
func parsePNPLocation(text string) (string, bool) {
	match := pnpLocation.FindStringSubmatch(text)
	if match == nil {
		return "", false
	}
	var numbers [3]int
	for i := range numbers {
		numbers[i], _ = strconv.Atoi(match[i+1])
	}
	address := fmt.Sprintf("0000:%02x:%02x.%d", numbers[0], numbers[1], numbers[2])
	return address, numbers[0] < 256 && numbers[1] < 32 && pci.IsAddress(address)
}
