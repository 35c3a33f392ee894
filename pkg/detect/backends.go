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
		Network(),
		NVIDIA(),
		Storage(),
		MediaTekAPU(),
		Neuron(),
		NVIDIA(),
		Qualcomm(),
		SamsungNPU(),
		TPU(),
		Vulkan(),
		XDNA(),
	}
}
