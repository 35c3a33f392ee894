package detect

import (
	"github.com/rankwright/rankwright/pkg/detect/amd"
	"github.com/rankwright/rankwright/pkg/detect/apple"
	"github.com/rankwright/rankwright/pkg/detect/aws"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/cerebras"
	"github.com/rankwright/rankwright/pkg/detect/furiosa"
	"github.com/rankwright/rankwright/pkg/detect/generic"
	"github.com/rankwright/rankwright/pkg/detect/google"
	"github.com/rankwright/rankwright/pkg/detect/graphcore"
	"github.com/rankwright/rankwright/pkg/detect/groq"
	"github.com/rankwright/rankwright/pkg/detect/hailo"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/huawei"
	"github.com/rankwright/rankwright/pkg/detect/intel"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/pkg/detect/mediatek"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/pkg/detect/qualcomm"
	"github.com/rankwright/rankwright/pkg/detect/samsung"
	"github.com/rankwright/rankwright/pkg/detect/tenstorrent"
)

// Backends returns every backend in this program, in order of their names.
func Backends() []backend.Backend {
	return []backend.Backend{
		amd.GPU(),
		apple.Silicon(),
		huawei.Ascend(),
		cerebras.CS(),
		machine.CPU(),
		furiosa.NPU(),
		intel.Gaudi(),
		graphcore.IPU(),
		groq.Card(),
		hailo.NPU(),
		intel.GPU(),
		intel.NPU(),
		nvidia.Jetson(),
		mediatek.APU(),
		machine.Network(),
		aws.Neuron(),
		nvidia.GPU(),
		qualcomm.CloudAI(),
		samsung.NPU(),
		machine.Storage(),
		tenstorrent.Card(),
		google.TPU(),
		generic.Unknown(),
		generic.Vulkan(),
		generic.WMI(),
		amd.NPU(),
	}
}

// Anonymize anonymizes a recording as Recording.Anonymize does, and keeps the names of backends, so that a detection can read it.
func Anonymize(recording *host.Recording) (*host.Recording, *host.Replacements, error) {
	var names []string
	for _, backend := range Backends() {
		names = append(names, backend.Name())
	}
	return recording.Anonymize(names...)
}
