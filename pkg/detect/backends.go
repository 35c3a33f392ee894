package detect

// Backends returns every backend in this program, in order of their names.
func Backends() []Backend {
	return []Backend{
		AMD(),
		CPU(),
		Gaudi(),
		IntelGPU(),
		IntelNPU(),
		Jetson(),
		Network(),
		NVIDIA(),
		Storage(),
		TPU(),
		Vulkan(),
	}
}
