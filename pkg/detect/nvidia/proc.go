package nvidia

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

const nvidiaProcFolder = "/proc/driver/nvidia"

// readNVIDIAProc reads /proc/driver/nvidia/gpus/ADDRESS/information. Until the GPU is initialised, the driver prints
// question marks for what it would have to ask it.
func readNVIDIAProc(files host.Files, address string) report.GPU {
	var gpu report.GPU
	for name, value := range host.Pairs(host.Text(files, path.Join(nvidiaProcFolder, "gpus", address), "information"), ":") {
		switch {
		case strings.Contains(value, "?") || value == "Unknown":
		case name == "Model":
			gpu.Name = value
		case name == "GPU UUID":
			gpu.UUID = value
		case name == "Video BIOS":
			gpu.VBIOS = value
		case name == "Device Minor":
			gpu.Minor = smiMinor(value)
		}
	}
	return gpu
}

// driverVersion matches 570.148.08 and 595.80 in the line of /proc/driver/nvidia/version, whose words around it differ
// between the open and the closed module.
var driverVersion = regexp.MustCompile(`\b\d{3,4}\.\d{1,3}(\.\d{1,3})?\b`)

// readNVIDIAVersion returns the version of the loaded driver; empty where none is.
func readNVIDIAVersion(files host.Files) string {
	line, _, _ := strings.Cut(host.Text(files, nvidiaProcFolder, "version"), "\n")
	if version := driverVersion.FindString(line); version != "" {
		return version
	}
	return driverVersion.FindString(host.Text(files, "/sys/module/nvidia", "version"))
}

// capabilityPath returns the device node that grants a MIG capability (`gpu0/mig/gi2/access`); empty where none is.
func capabilityPath(files host.Files, capability string) string {
	for name, value := range host.Pairs(host.Text(files, path.Join(nvidiaProcFolder, "capabilities"), capability), ":") {
		if minor, err := strconv.ParseUint(value, 10, 20); err == nil && name == "DeviceFileMinor" {
			return "/dev/nvidia-caps/nvidia-cap" + strconv.FormatUint(minor, 10)
		}
	}
	return ""
}
