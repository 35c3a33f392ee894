package engine

// inferenceOnly are devices whose makers' software serves models and trains none, whatever the engine.
var inferenceOnly = []Support{
	{
		Vendor: "aws", Devices: []string{"Inferentia", "Inferentia2"}, Looked: "2.26",
		Source: "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/neuron-intro/pytorch-setup/pytorch-install-prev.html",
	},
	{Vendor: "qualcomm", Source: "https://docs.qualcomm.com/doc/80-99100-3/topic/index_Quick-Start-Guide.html"},
	{Vendor: "furiosa", Source: "https://developer.furiosa.ai/latest/en"},
	{Vendor: "groq", Source: "https://www.eetimes.com/groq-demos-fast-llms-on-4-year-old-silicon/"},
	{Vendor: "hailo", Source: "https://github.com/hailo-ai/hailort"},
	{Vendor: "huawei", Devices: []string{"Ascend 310"}, Source: ascend310, Looked: "0.23.0"},
	{
		Vendor: "intel", Devices: []string{"NPU"},
		Source: "https://docs.openvino.ai/2026/openvino-workflow/running-inference/inference-devices-and-modes/npu-device.html", Looked: "2026.0",
	},
	{Vendor: "amd", Devices: []string{"XDNA1", "XDNA2"}, Source: "https://ryzenai.docs.amd.com/en/latest/", Looked: "1.7.0"},
}

// servesOnly returns the entry of a device that is known to train no models; nil for any other.
func servesOnly(d *Device) *Support {
	for i := range inferenceOnly {
		if s := &inferenceOnly[i]; s.Vendor == d.Vendor && (len(s.Devices) == 0 || d.known() && d.is(s.Devices)) {
			return s
		}
	}
	return nil
}

// Joins says whether partitions of a kind can be ranks of one group. MIG devices cannot: there is no communication between GPUs by PCIe,
// NVLink or CUDA's IPC while they are partitioned, and a process sees one MIG device. Other partitions (CPX, tiles, cores) are devices to
// the library that joins them. Sources: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/deployment-considerations.html,
// https://docs.rapids.ai/deployment/stable/guides/mig.
func Joins(partition string) bool { return partition != "MIG" }
