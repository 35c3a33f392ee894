package report

// Library is the file name of NVIDIA's management library.
const Library = "libnvidia-ml.so.1"

// DriverGPUs is where NVIDIA's driver lists its GPUs by their addresses, those that are lost too.
const DriverGPUs = "/proc/driver/nvidia/gpus"

// LibraryFolders are where drivers put the library, in the order in which it is looked for where no loader knows: the GPU
// operator's driver container, whose mount hides a driver that was installed before; GKE's installer, on the host and in
// containers; distributions' packages; NixOS; the subsystem for Linux of Windows.
//
// Sources: gpu-operator and k8s-device-plugin of NVIDIA, container-engine-accelerators of GoogleCloudPlatform, file lists
// of the packages libnvidia-ml1 (Debian), nvidia-driver-cuda-libs (Fedora) and nvidia-utils (Arch).
var LibraryFolders = []string{
	"/run/nvidia/driver/usr/lib64", "/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
	"/run/nvidia/driver/usr/lib",
	"/home/kubernetes/bin/nvidia/lib64", "/usr/local/nvidia/lib64", "/opt/nvidia/lib64",
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu/nvidia/current",
	"/run/opengl-driver/lib",
	"/usr/lib/wsl/lib",
}
