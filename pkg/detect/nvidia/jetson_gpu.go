package nvidia

import (
	"path"
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// tegraGPUName matches the few platform devices, of some hundreds, that may be a GPU, so that only their entries in the device
// tree are read.
var tegraGPUName = regexp.MustCompile(`^[0-9a-f]{1,16}\.(gpu|g[mpvab]\d{1,2}b)$`)

// tegraChips are the GPUs by what the device tree calls them compatible with (nvgpu, and Linux,
// Documentation/devicetree/bindings/gpu/nvidia,gk20a.txt).
var tegraChips = map[string]bool{
	"nvidia,gm20b": true, "nvidia,tegra210-gm20b": true, "nvidia,gp10b": true, "nvidia,tegra186-gp10b": true,
	"nvidia,gv11b": true, "nvidia,ga10b": true, "nvidia,gb10b": true,
}

// tegraGPUs lists the GPUs in order of their names.
func tegraGPUs(files host.Files) ([]sysfs.PlatformDevice, error) {
	names, err := host.ReadNames(files, sysfs.PlatformFolder)
	if err != nil {
		return nil, err
	}
	var gpus []sysfs.PlatformDevice
	for _, name := range names {
		if !tegraGPUName.MatchString(name) {
			continue
		}
		folder, err := files.RealPath(path.Join(sysfs.PlatformFolder, name))
		if err != nil {
			continue // gone since the folder was listed
		}
		text, _, err := host.ReadText(files, path.Join(folder, "uevent"))
		if err != nil {
			return gpus, err
		}
		if properties := sysfs.ParseUevent(text); isTegraGPU(properties) {
			gpus = append(gpus, sysfs.PlatformDevice{Name: name, Folder: folder, Driver: host.Clip(properties["DRIVER"], 64)})
		}
	}
	return gpus, nil
}

func isTegraGPU(properties sysfs.Uevent) bool {
	for key, value := range properties {
		if strings.HasPrefix(key, "OF_COMPATIBLE_") && tegraChips[value] {
			return true
		}
	}
	return false
}

// jetsonNodes are the folder of the GPU's device nodes in newer releases, then the nodes themselves in older ones.
const jetsonNodes = "/dev/nvgpu/igpu0"

var jetsonOldNodes = []string{
	"/dev/nvhost-as-gpu", "/dev/nvhost-ctrl-gpu", "/dev/nvhost-gpu", "/dev/nvhost-tsg-gpu",
}

// jetsonPaths are the nodes that work on the GPU needs, with the one that its memory comes from; none where the GPU's
// own are not there.
func jetsonPaths(files host.Files) []string {
	var paths []string
	names, _ := host.ReadNames(files, jetsonNodes)
	for _, name := range names[:min(len(names), backend.MaxPaths-1)] {
		paths = append(paths, path.Join(jetsonNodes, name))
	}
	if len(paths) == 0 {
		for _, name := range jetsonOldNodes {
			if host.Exists(files, name) {
				paths = append(paths, name)
			}
		}
	}
	if len(paths) > 0 && host.Exists(files, "/dev/nvmap") {
		paths = append(paths, "/dev/nvmap")
	}
	return paths
}

const thermalZones = "/sys/class/thermal"

// readTegra is the GPU's load, which nvgpu prints in thousandths, and its temperature. Power is only measured of rails that
// others draw from, too.
func readTegra(files host.Files, gpu sysfs.PlatformDevice) backend.Reading {
	var reading backend.Reading
	if load := backend.ReadNumber(files, path.Join(gpu.Folder, "load"), 0, 1000); load != nil {
		reading.UtilizationPercent = new(*load / 10)
	}
	names, _ := host.ReadNames(files, thermalZones)
	for _, name := range names {
		// `gpu-thermal` since release 36, `GPU-therm` before.
		kind := strings.ToLower(host.Text(files, path.Join(thermalZones, name), "type"))
		if strings.HasPrefix(name, "thermal_zone") && strings.HasPrefix(kind, "gpu-therm") {
			reading.TemperatureMilliC = backend.ReadNumber(files, path.Join(thermalZones, name, "temp"), 0, backend.MaxCelsius*1000)
			break
		}
	}
	return reading
}
