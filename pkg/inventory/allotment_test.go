package inventory

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// farm has three NVIDIA GPUs of which the middle one is cut in two, two of AMD, one card of Intel beside a Gaudi, Ascend NPUs that
// the driver numbers the other way round, two NeuronCores, and a TPU chip of two cores.
func farm(products ...string) []v1alpha1.Device {
	part := func(d v1alpha1.Device, parent v1alpha1.DeviceID) v1alpha1.Device {
		d.Partition = &v1alpha1.DevicePartition{Kind: "MIG", Parent: parent}
		return d
	}
	number := func(d v1alpha1.Device, n int32) v1alpha1.Device { d.Index = &n; return d }
	devices := []v1alpha1.Device{
		device("amd-0", v1alpha1.FamilyGPU, "MI300X", 1), device("amd-1", v1alpha1.FamilyGPU, "MI300X", 1), device("amd-npu", v1alpha1.FamilyNPU, "NPU", 1),
		device("aws-0-0", v1alpha1.FamilyASIC, "Trainium", 1), device("aws-0-1", v1alpha1.FamilyASIC, "Trainium", 1),
		part(device("google-0-0", v1alpha1.FamilyTPU, "TPU v3", 1), "google-0"), part(device("google-0-1", v1alpha1.FamilyTPU, "TPU v3", 1), "google-0"),
		number(device("huawei-0", v1alpha1.FamilyNPU, "910B", 1), 1), number(device("huawei-1", v1alpha1.FamilyNPU, "910B", 1), 0),
		device("intel-0", v1alpha1.FamilyGPU, "Max 1550", 1), device("intel-1", v1alpha1.FamilyASIC, "Gaudi3", 1),
		device("nvidia-0", v1alpha1.FamilyGPU, "H100", 1),
		part(device("nvidia-1-mig1", v1alpha1.FamilyGPU, "H100", 1), "nvidia-1"), part(device("nvidia-1-mig2", v1alpha1.FamilyGPU, "H100", 1), "nvidia-1"),
		device("nvidia-2", v1alpha1.FamilyGPU, "H100", 1),
	}
	for i := range devices {
		devices[i].UUID = fmt.Sprintf("GPU-%04d-0000", i)
	}
	for i, product := range products {
		devices[11+i].Product = product
	}
	return devices
}

func TestAllotments(t *testing.T) {
	mixed := farm("L4")
	tests := map[string]struct {
		devices []v1alpha1.Device
		environ []string
		want    []string // variable: devices, then what is unknown
	}{
		"nothing is set":          {farm(), []string{"PATH=/bin", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, nil},
		"numbers":                 {farm(), []string{"CUDA_VISIBLE_DEVICES=2,0"}, []string{"CUDA_VISIBLE_DEVICES: [nvidia-2 nvidia-0] []"}},
		"a card that is cut":      {farm(), []string{"NVIDIA_VISIBLE_DEVICES=1"}, []string{"NVIDIA_VISIBLE_DEVICES: [nvidia-1-mig1 nvidia-1-mig2] []"}},
		"all":                     {farm(), []string{"NVIDIA_VISIBLE_DEVICES=all"}, []string{"NVIDIA_VISIBLE_DEVICES: [nvidia-0 nvidia-1-mig1 nvidia-1-mig2 nvidia-2] []"}},
		"none":                    {farm(), []string{"CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES=void"}, []string{"NVIDIA_VISIBLE_DEVICES: [] []", "CUDA_VISIBLE_DEVICES: [] []"}},
		"-1 ends the list":        {farm(), []string{"CUDA_VISIBLE_DEVICES=0,-1,2"}, []string{"CUDA_VISIBLE_DEVICES: [nvidia-0] [-1]"}},
		"one that is not there":   {farm(), []string{"NVIDIA_VISIBLE_DEVICES=7,0"}, []string{"NVIDIA_VISIBLE_DEVICES: [nvidia-0] [7]"}},
		"the beginning of a UUID": {farm(), []string{"CUDA_VISIBLE_DEVICES=GPU-0014"}, []string{"CUDA_VISIBLE_DEVICES: [nvidia-2] []"}},
		"a UUID of nobody":        {farm(), []string{"CUDA_VISIBLE_DEVICES=GPU-99999999"}, []string{"CUDA_VISIBLE_DEVICES: [] [GPU-99999999]"}},
		"several products":        {mixed, []string{"CUDA_VISIBLE_DEVICES=0"}, []string{"CUDA_VISIBLE_DEVICES: [] [0]"}},
		"several, in order":       {mixed, []string{"CUDA_VISIBLE_DEVICES=0", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, []string{"CUDA_VISIBLE_DEVICES: [nvidia-0] []"}},
		"one within another":      {farm(), []string{"HIP_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=1"}, []string{"ROCR_VISIBLE_DEVICES: [amd-1] []", "HIP_VISIBLE_DEVICES: [amd-1] []"}},
		"a tile":                  {farm(), []string{"ZE_AFFINITY_MASK=0.1"}, []string{"ZE_AFFINITY_MASK: [intel-0] []"}},
		"the driver's numbers":    {farm(), []string{"ASCEND_RT_VISIBLE_DEVICES=0"}, []string{"ASCEND_RT_VISIBLE_DEVICES: [huawei-1] []"}},
		"a range":                 {farm(), []string{"NEURON_RT_VISIBLE_CORES=0-1"}, []string{"NEURON_RT_VISIBLE_CORES: [aws-0-0 aws-0-1] []"}},
		"no range":                {farm(), []string{"NEURON_RT_VISIBLE_CORES=1-0"}, []string{"NEURON_RT_VISIBLE_CORES: [] [1-0]"}},
		"a chip":                  {farm(), []string{"TPU_VISIBLE_CHIPS=0"}, []string{"TPU_VISIBLE_CHIPS: [google-0-0 google-0-1] []"}},
		"a Gaudi":                 {farm(), []string{"HABANA_VISIBLE_DEVICES=all"}, []string{"HABANA_VISIBLE_DEVICES: [intel-1] []"}},
		"no such vendor":          {nil, []string{"CUDA_VISIBLE_DEVICES=0"}, []string{"CUDA_VISIBLE_DEVICES: [] [0]"}},
		"set twice":               {farm(), []string{"TPU_VISIBLE_CHIPS=9", "TPU_VISIBLE_CHIPS=0"}, []string{"TPU_VISIBLE_CHIPS: [google-0-0 google-0-1] []"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range Allotments(test.devices, test.environ) {
				got = append(got, fmt.Sprintf("%s: %v %v", a.Variable, a.Devices, a.Unknown))
				if !slices.Contains(test.environ, a.Variable+"="+a.Value) {
					t.Errorf("value %q of %s", a.Value, a.Variable)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
