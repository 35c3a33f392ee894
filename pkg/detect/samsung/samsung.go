// Package samsung finds the NPUs in Samsung's Exynos processors.
package samsung

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// NPU finds the NPU of Samsung's Exynos SoCs by its node in the device tree, on machines that are Samsung's. It
// runs no command. The device node is the vertex device that the kernel's class vision4linux has of the NPU, and of the
// DSP beside it another. The NPU works in the host's memory, which is not counted a second time.
//
// Sources: drivers/vision of Samsung's published kernels, and what a user of an Exynos phone published of its sysfs. No
// Exynos was at hand.
func NPU() backend.Backend {
	return backend.NewSoC(backend.SoC{
		Kind:    backend.Kind{Backend: "samsung-npu", Vendor: "samsung", Family: v1alpha1.FamilyNPU},
		Product: "Samsung Exynos NPU",
		// Parts of the NPU have strings that go on (-core, -hwdev, -nshare).
		Pattern: func(compatible string) bool { return compatible == "samsung,exynos-npu" },
		Classes: []string{"vision4linux"},
		Load:    "load exynos-npu, which Samsung's kernels have",
	})
}
