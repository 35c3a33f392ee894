package helper

import (
	"path"
	"path/filepath"
	"slices"

	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// These load NVIDIA's library, and so run in the helper's own file tree, which has the glibc that they were linked against.
const (
	nvmlTool = "rankwright-nvml"
	cdiTool  = "rankwright-cdi"
)

// WithLibrary returns a function for Server.Complete that has rankwright-nvml load the library of the driver below root and
// read there which GPUs the driver lists, and rankwright-cdi look for the driver there. It looks at every invocation, since a
// driver can be installed, upgraded and removed while the helper runs. Where no library is found, the programs say so themselves.
func WithLibrary(root string) func(argv []string) []string {
	files := host.LiveFiles(root)
	return func(argv []string) []string {
		if len(argv) > 1 && argv[0] == cdiTool {
			return append(slices.Clone(argv), "--host="+root)
		}
		if len(argv) < 2 || argv[0] != nvmlTool {
			return argv
		}
		name := findLibrary(files)
		if name == "" {
			return argv
		}
		// The command comes first, then its flags.
		return append([]string{
			argv[0], argv[1], "-library=" + filepath.Join(root, name), "-driver-gpus=" + filepath.Join(root, report.DriverGPUs),
		}, argv[2:]...)
	}
}

// findLibrary is the path of NVIDIA's management library in a file tree, links resolved inside of it; empty where there is
// none.
func findLibrary(files host.Files) string {
	for _, folder := range report.LibraryFolders {
		name, err := files.RealPath(path.Join(folder, report.Library))
		if err != nil {
			continue
		}
		if mode, err := files.Stat(name); err == nil && mode.IsRegular() {
			return name
		}
	}
	return ""
}
