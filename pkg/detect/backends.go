package detect

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
