package nccl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// vendor is a pair of libraries with the same calls: one of devices, one of collectives.
type vendor struct {
	name string
	// devices and collectives are the libraries' names for the loader.
	devices, collectives string
	// tag tells the symbols of the library of devices.
	tag string
}

// vendors are tried in order. RCCL has the functions of NCCL by the same names, and HIP has the functions of CUDA's driver
// by names of its own (hip_runtime_api.h); codes that matter here are the same: 600 is hipErrorNotReady, 1 is hipStreamNonBlocking.
var vendors = []vendor{
	{"NCCL", "libcuda.so.1", "libnccl.so.2", "cuda"},
	{"RCCL", "libamdhip64.so.7", "librccl.so.1", "hip"},
	{"RCCL", "libamdhip64.so.6", "librccl.so.1", "hip"},
}

// pathVariable is the environment variable with the path of the library of collectives, where that is in none of the usual
// places. vLLM reads it for the same.
const pathVariable = "VLLM_NCCL_SO_PATH"

// collectiveFolders are where engines' images have the library of collectives where the loader does not look: in Python's
// packages (nvidia-nccl-cu12, nvidia-nccl-cu13, torch) and in ROCm's folder.
var collectiveFolders = []string{
	"/usr/local/lib/python3*/dist-packages/nvidia/nccl/lib", "/usr/local/lib/python3*/site-packages/nvidia/nccl/lib",
	"/usr/lib/python3*/dist-packages/nvidia/nccl/lib", "/opt/*/lib/python3*/site-packages/nvidia/nccl/lib",
	"/opt/*/*/lib/python3*/site-packages/nvidia/nccl/lib", "/opt/rocm/lib",
}

// names are what to try for the library of collectives: what the environment says or, where that says nothing, what an
// engine loads by itself: the library of its packages, else the loader's.
func (v *vendor) names() []string {
	if path := os.Getenv(pathVariable); path != "" {
		return []string{path}
	}
	var names []string
	for _, folder := range collectiveFolders {
		found, _ := filepath.Glob(filepath.Join(folder, v.collectives)) // the patterns are constant and well-formed
		names = append(names, found...)
	}
	return append(names, v.collectives)
}

// Open loads the libraries of the first vendor that has a device here, by the loader's choice. The error wraps ErrUnavailable
// and says for each vendor what is missing.
func Open() (*Library, error) {
	var missing []error
	for i := range vendors {
		l, err := open(&vendors[i])
		if err == nil {
			return l, nil
		}
		missing = append(missing, fmt.Errorf("%s: %w", vendors[i].name, err))
	}
	return nil, errors.Join(missing...)
}
