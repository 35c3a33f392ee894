package nvidia

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// smiGPU is the `gpu` element of `nvidia-smi -q -x`, as NVIDIA's nvsmi_device DTD has it. Texts are as printed; smiValue
// tells a value from the words for its absence.
type smiGPU struct {
	ID             string    `xml:"id,attr"`
	Product        string    `xml:"product_name"`
	Architecture   string    `xml:"product_architecture"`
	UUID           string    `xml:"uuid"`
	Minor          string    `xml:"minor_number"`
	VBIOS          string    `xml:"vbios_version"`
	MIGMode        string    `xml:"mig_mode>current_mig"`
	MIG            []smiMIG  `xml:"mig_devices>mig_device"`
	RecoveryAction string    `xml:"gpu_recovery_action"`
	Memory         smiMemory `xml:"fb_memory_usage"`

	RemapPending     string `xml:"remapped_rows>remapped_row_pending"`
	RemapFailure     string `xml:"remapped_rows>remapped_row_failure"`
	RetirePending    string `xml:"retired_pages>pending_retirement"`
	SRAMThresholdHit string `xml:"ecc_errors>aggregate>sram_threshold_exceeded"`

	Temperature  string `xml:"temperature>gpu_temp"`
	PowerInstant string `xml:"gpu_power_readings>instant_power_draw"`
	PowerAverage string `xml:"gpu_power_readings>average_power_draw"`
	PowerDraw    string `xml:"gpu_power_readings>power_draw"`
	PowerOld     string `xml:"power_readings>power_draw"`
	Utilization  string `xml:"utilization>gpu_util"`

	FabricState   string `xml:"fabric>state"`
	FabricStatus  string `xml:"fabric>status"`
	FabricClique  string `xml:"fabric>cliqueId"`
	FabricCluster string `xml:"fabric>clusterUuid"`
	FabricHealth  string `xml:"fabric>health>summary"`

	Raw []byte `xml:",innerxml"`
}

// smiMIG is a MIG device. Its memory is its GPU instance's, which the compute instances in it share.
type smiMIG struct {
	Index             string    `xml:"index"`
	GPUInstanceID     string    `xml:"gpu_instance_id"`
	ComputeInstanceID string    `xml:"compute_instance_id"`
	Memory            smiMemory `xml:"fb_memory_usage"`
}

type smiMemory struct {
	Total string `xml:"total"`
	Used  string `xml:"used"`
}

// parseSMI reads the report. Where it breaks off, the GPUs before are kept and the error says so. Lines before it are
// searched for what nvidia-smi says of single GPUs there.
func parseSMI(output []byte) (nvidiaReport, error) {
	parsed := newNVIDIAReport()
	parsed.faults = smiFaults(string(output))
	start := bytes.Index(output, []byte("<nvidia_smi_log"))
	if start < 0 {
		return parsed, errors.New("printed no report")
	}
	decoder := xml.NewDecoder(bytes.NewReader(output[start:]))
	decoder.Strict = false // process names stand in it as they are
	for len(parsed.gpus) < backend.MaxDevices {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return parsed, nil
		}
		if err != nil {
			return parsed, fmt.Errorf("report breaks off: %w", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch element.Name.Local {
		case "driver_version":
			err = decoder.DecodeElement(&parsed.driverVersion, &element)
			parsed.driverVersion = firstWord(smiValue(parsed.driverVersion))
		case "cuda_version":
			err = decoder.DecodeElement(&parsed.cudaVersion, &element)
			parsed.cudaVersion = firstWord(smiValue(parsed.cudaVersion))
		case "gpu":
			gpu := new(smiGPU)
			if err = decoder.DecodeElement(gpu, &element); err == nil {
				address, _ := report.Address(gpu.ID)
				if key := cmp.Or(address, smiValue(gpu.UUID)); key != "" {
					parsed.gpus[key] = gpu.facts()
				}
			}
		}
		if err != nil {
			return parsed, fmt.Errorf("report breaks off: %w", err)
		}
	}
	return parsed, nil
}

// smiNothing are the words that nvidia-smi prints in place of a value.
var smiNothing = map[string]bool{
	"N/A": true, "[N/A]": true, "None": true, "Not Supported": true, "[Not Supported]": true,
	"Unknown": true, "Unknown Error": true, "[Unknown Error]": true, "ERR!": true, "GPU is lost": true, "[GPU is lost]": true,
	"GPU requires reset": true, "[GPU requires reset]": true,
	"Insufficient Permissions": true, "[Insufficient Permissions]": true,
	"Requested functionality has been deprecated": true,
}

// smiValue returns a printed value; empty where a word stands for its absence.
func smiValue(text string) string {
	text = strings.TrimSpace(text)
	if smiNothing[text] {
		return ""
	}
	return text
}

// firstWord is what stands before the first space: since 610, nvidia-smi prints `610.57.04 [Deprecated; …]`.
func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// smiMinor reads a minor number of a device node; nil where it is none.
func smiMinor(text string) *int32 {
	minor, err := strconv.ParseUint(smiValue(text), 10, 20)
	if err != nil {
		return nil
	}
	return new(int32(minor))
}

// smiFaultGPU matches the GPU in lines such as `Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.`
// and `WARNING: infoROM is corrupted at gpu 0000:3B:00.0`.
var smiFaultGPU = regexp.MustCompile(`(?i)\bGPU ?([0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7])\b`)

// smiFaults finds such lines by PCI address, outside of the report's elements.
func smiFaults(output string) map[string]string {
	faults := map[string]string{}
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '<' {
			continue
		}
		match := smiFaultGPU.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		if address, ok := report.Address(match[1]); ok && faults[address] == "" && len(faults) < backend.MaxDevices {
			faults[address] = host.Clip(line, 256)
		}
	}
	return faults
}
