package detect

// Backends returns every backend in this program, in order of their names.
func Backends() []Backend {
	return []Backend{
		AMD(),
		Apple(),
		CPU(),
		Gaudi(),
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
		TPU(),
		Vulkan(),
		XDNA(),
	}
}
