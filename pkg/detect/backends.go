package detect

import "github.com/rankwright/rankwright/pkg/detect/host"

// Backends returns every backend in this program, in order of their names.
func Backends() []Backend {
	return []Backend{
		AMD(),
		Apple(),
		Ascend(),
		Cerebras(),
		CPU(),
		Furiosa(),
		Gaudi(),
		Graphcore(),
		Groq(),
		Hailo(),
		IntelGPU(),
		IntelNPU(),
		Jetson(),
		MediaTekAPU(),
		Network(),
		Neuron(),
		NVIDIA(),
		Qualcomm(),
		SamsungNPU(),
		Storage(),
		Tenstorrent(),
		TPU(),
		UnknownAccelerator(),
		Vulkan(),
		WMI(),
		XDNA(),
	}
}

// Anonymize is Recording.Anonymize for recordings that a detection is to read: the names of backends stay.
func Anonymize(recording *host.Recording) (*host.Recording, *host.Replacements, error) {
	var names []string
	for _, backend := range Backends() {
		names = append(names, backend.Name())
	}
	return recording.Anonymize(names...)
}
