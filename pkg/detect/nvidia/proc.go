package nvidia

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

const nvidiaProcFolder = "/proc/driver/nvidia"

// nvidiaProc is what the driver's files under /proc say of a GPU; what they do not say is empty.
type nvidiaProc struct {
	model, uuid, vbios string
	minor              *int32
}

// readNVIDIAProc reads /proc/driver/nvidia/gpus/ADDRESS/information. Until the GPU is initialised, the driver prints
// question marks for what it would have to ask it.
func readNVIDIAProc(files host.Files, address string) nvidiaProc {
	text, _, _ := host.ReadText(files, path.Join(nvidiaProcFolder, "gpus", address, "information"))
	var info nvidiaProc
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if strings.Contains(value, "?") || value == "Unknown" {
			continue
		}
		switch strings.TrimSpace(key) {
		case "Model":
			info.model = value
		case "GPU UUID":
			info.uuid = value
		case "Video BIOS":
			info.vbios = value
		case "Device Minor":
			if minor, ok := smiMinor(value); ok {
				info.minor = &minor
			}
		}
	}
	return info
}

// driverVersion matches 570.148.08 and 595.80 in the line of /proc/driver/nvidia/version, whose words around it differ
// between the open and the closed module.
var driverVersion = regexp.MustCompile(`\b\d{3,4}\.\d{1,3}(\.\d{1,3})?\b`)

// readNVIDIAVersion returns the version of the loaded driver; empty where none is.
func readNVIDIAVersion(files host.Files) string {
	text, _, _ := host.ReadText(files, path.Join(nvidiaProcFolder, "version"))
	line, _, _ := strings.Cut(text, "\n")
	if version := driverVersion.FindString(line); version != "" {
		return version
	}
	text, _, _ = host.ReadText(files, "/sys/module/nvidia/version")
	return driverVersion.FindString(text)
}

// capabilityPath returns the device node that grants a MIG capability (`gpu0/mig/gi2/access`); empty where none is.
func capabilityPath(files host.Files, capability string) string {
	text, _, _ := host.ReadText(files, path.Join(nvidiaProcFolder, "capabilities", capability))
	for line := range strings.Lines(text) {
		value, found := strings.CutPrefix(strings.TrimSpace(line), "DeviceFileMinor:")
		if !found {
			continue
		}
		if minor, err := strconv.ParseUint(strings.TrimSpace(value), 10, 20); err == nil {
			return "/dev/nvidia-caps/nvidia-cap" + strconv.FormatUint(minor, 10)
		}
	}
	return ""
}
