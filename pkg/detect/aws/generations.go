package aws

import "github.com/rankwright/rankwright/pkg/detect/pci"

// neuronGeneration is what tells a generation of NeuronDevices from the others.
type neuronGeneration struct {
	// name is that of the chip, as the driver has it but for the first (`Trainium2`).
	name string
	// cores are physical, grouped so many to a logical one by default.
	cores, grouping int
	// links is the number of NeuronLinks by which a chip reaches others of its instance.
	links int64
}

const (
	neuronPCIVendor = "1d0f"
	neuronDriver    = "neuron-driver"
	neuronModule    = "neuron"
)

// neuronGenerations are by PCI device id. Sources: neuron_device.h and the v1 to v4 folders of aws-neuron-driver for ids
// and cores; for the links its tables of neighbours and, for Trainium2 and 3, the architecture guides of NKI. That two
// cores make a logical one on Trainium3, too, is what users of trn3 publish.
var neuronGenerations = map[string]neuronGeneration{
	"7064": {"Inferentia", 4, 1, 2},
	"7065": {"Inferentia", 4, 1, 2},
	"7066": {"Inferentia", 4, 1, 2},
	"7067": {"Inferentia", 4, 1, 2},
	"7164": {"Trainium", 2, 1, 4},
	"7264": {"Inferentia2", 2, 1, 2},
	"7364": {"Trainium2", 8, 2, 4},
	"7564": {"Trainium3", 8, 2, 4},
	"7565": {"Trainium3", 8, 2, 4},
}

// neuronGenerationOf says whether a function is a NeuronDevice, and of which generation; the zero one where only the
// driver tells that it is one.
func neuronGenerationOf(function pci.Function) (neuronGeneration, bool) {
	if function.VendorID != neuronPCIVendor {
		return neuronGeneration{}, false
	}
	generation, ok := neuronGenerations[function.DeviceID]
	return generation, ok || function.Driver == neuronDriver
}
