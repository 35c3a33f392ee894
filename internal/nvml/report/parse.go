package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of a document: a library's nonsense must not become the reader's.
const (
	MaxGPUs       = 256
	maxNVLinks    = 128
	MaxMIGDevices = 64
	maxFaults     = 64
)

// Parse reads a document. Unknown fields are ignored, since printer and reader may be of different versions; addresses
// are the kernel's, lists are bounded, and a GPU that is listed twice is an error.
func Parse(data []byte) (Host, error) {
	var host Host
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&host); err != nil {
		return Host{}, fmt.Errorf("the document is not JSON of the known form: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Host{}, errors.New("something follows the document")
	}
	if len(host.GPUs) > MaxGPUs || len(host.Unaddressed) > MaxGPUs {
		return Host{}, fmt.Errorf("%d GPUs are more than %d", max(len(host.GPUs), len(host.Unaddressed)), MaxGPUs)
	}
	seen := map[string]bool{}
	for i := range host.GPUs {
		gpu := &host.GPUs[i]
		address, ok := Address(gpu.PCI)
		if !ok && gpu.PCI != "" {
			return Host{}, fmt.Errorf("gpus[%d].pci %q is no address", i, gpu.PCI)
		}
		gpu.PCI = address
		if key := gpu.Key(); key == "" || seen[key] {
			return Host{}, fmt.Errorf("gpus[%d] has neither address nor UUID, or %q is listed twice", i, key)
		}
		seen[gpu.Key()] = true
		if len(gpu.NVLinks) > maxNVLinks || len(gpu.Faults) > maxFaults || gpu.MIG != nil && len(gpu.MIG.Devices) > MaxMIGDevices {
			return Host{}, fmt.Errorf("gpus[%d] (%s) has more links, MIG devices or faults than any GPU", i, gpu.Key())
		}
		for j := range gpu.NVLinks {
			gpu.NVLinks[j].RemotePCI, _ = Address(gpu.NVLinks[j].RemotePCI)
		}
	}
	return host, nil
}

var busID = regexp.MustCompile(`^([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])$`)

// Address turns NVIDIA's 00000000:8F:00.0 into the kernel's 0000:8f:00.0; empty where it is no address.
func Address(id string) (string, bool) {
	match := busID.FindStringSubmatch(strings.TrimSpace(id))
	if match == nil {
		return "", false
	}
	domain, err := strconv.ParseUint(match[1], 16, 32)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%04x:%s", domain, strings.ToLower(match[2])), true
}
