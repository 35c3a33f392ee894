package inventory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Allotment is the devices of a host that an environment variable leaves to a process.
type Allotment struct {
	// Variable and Value are the variable's name and value in the environment.
	Variable string `json:"variable"`
	Value    string `json:"value"`
	// Devices are the devices that the process may use, in the order in which it numbers them.
	Devices []v1alpha1.DeviceID `json:"devices,omitempty"`
	// Unknown are the words of the value that name no known device, or none for certain.
	Unknown []string `json:"unknown,omitempty"`
}

// allotter is how a vendor's runtime reads its variable.
type allotter struct {
	variable string
	devices  Selector
	// within is the variable that is applied first; numbers count the devices that it leaves.
	within string
	// wholes says that numbers count cards or chips, however many devices each is listed as; otherwise they count
	// devices.
	wholes bool
	// numbered says that numbers are the driver's own numbers where all devices have one; otherwise they count in order
	// of the ids.
	numbered bool
	// ordered is the setting with which numbers count in order of PCI addresses where products differ; empty where they
	// always do.
	ordered string
	// stops says that the first word that names no device ends the list.
	stops bool
}

// allotters are the variables, each as its vendor documents it: NVIDIA's CUDA programming guide (environment variables) and container toolkit,
// AMD's ROCm documentation (GPU isolation), the Level Zero specification (affinity mask), Huawei's CANN, AWS's Neuron runtime
// (configuration), Google's libtpu, and Intel's Gaudi container runtime. What is in none of these lists is set by no runtime.
var allotters = []allotter{
	{variable: "NVIDIA_VISIBLE_DEVICES", devices: ByVendor("nvidia"), wholes: true},
	{variable: "CUDA_VISIBLE_DEVICES", devices: ByVendor("nvidia"), wholes: true, stops: true, ordered: "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
	{variable: "ROCR_VISIBLE_DEVICES", devices: gpusOf("amd"), stops: true},
	{variable: "HIP_VISIBLE_DEVICES", devices: gpusOf("amd"), within: "ROCR_VISIBLE_DEVICES", stops: true},
	{variable: "ZE_AFFINITY_MASK", devices: gpusOf("intel"), wholes: true},
	{variable: "ASCEND_VISIBLE_DEVICES", devices: ByVendor("huawei"), numbered: true},
	{variable: "ASCEND_RT_VISIBLE_DEVICES", devices: ByVendor("huawei"), within: "ASCEND_VISIBLE_DEVICES", numbered: true, stops: true},
	{variable: "NEURON_RT_VISIBLE_CORES", devices: ByVendor("aws"), numbered: true},
	{variable: "TPU_VISIBLE_CHIPS", devices: ByVendor("google"), wholes: true, numbered: true},
	{variable: "TPU_VISIBLE_DEVICES", devices: ByVendor("google"), wholes: true, numbered: true},
	{variable: "HABANA_VISIBLE_DEVICES", devices: All(ByVendor("intel"), ByFamily(v1alpha1.FamilyASIC)), numbered: true},
}

func gpusOf(vendor string) Selector { return All(ByVendor(vendor), ByFamily(v1alpha1.FamilyGPU)) }

// AllotmentVariables returns the names of the variables that Allotments reads.
func AllotmentVariables() []string {
	return namesOf(allotters, func(a *allotter) string { return a.variable })
}

// Allotments returns what the variables in an environment (`NAME=value`) leave of the devices; empty where none is set.
func Allotments(devices []v1alpha1.Device, environ []string) []Allotment {
	var found []Allotment
	for _, a := range allotters {
		value, set := lookup(environ, a.variable)
		if !set {
			continue
		}
		candidates := Pick(devices, a.devices)
		for i := range found {
			if found[i].Variable == a.within {
				candidates = inOrderOf(candidates, found[i].Devices)
			}
		}
		found = append(found, a.read(value, candidates, environ))
	}
	return found
}

// lookup returns the last value of a variable, which is the one that counts.
func lookup(environ []string, name string) (value string, set bool) {
	for _, entry := range slices.Backward(environ) {
		if value, set = strings.CutPrefix(entry, name+"="); set {
			return value, true
		}
	}
	return "", false
}

// inOrderOf returns the listed devices in the order of the list.
func inOrderOf(devices []v1alpha1.Device, listed []v1alpha1.DeviceID) []v1alpha1.Device {
	var ordered []v1alpha1.Device
	for _, id := range listed {
		ordered = append(ordered, Pick(devices, byID(id))...)
	}
	return ordered
}

// read applies a value. An empty one, none and void leave no device.
func (a *allotter) read(value string, candidates []v1alpha1.Device, environ []string) Allotment {
	allotment := Allotment{Variable: a.variable, Value: value}
	places := a.places(candidates)
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "none", "void":
		return allotment
	case "all":
		allotment.Devices = slices.Concat(places...)
		return allotment
	}
	counts := !a.guesses(candidates, environ)
	for _, word := range wordsOf(value) {
		ids := byUUID(candidates, word)
		if number, ok := numberIn(word); ok && counts && number < len(places) {
			ids = places[number]
		}
		if len(ids) == 0 {
			allotment.Unknown = append(allotment.Unknown, word)
			if a.stops {
				break
			}
		}
		allotment.Devices = append(allotment.Devices, ids...)
	}
	return allotment
}

// places returns the devices by the numbers that the runtime gives them.
func (a *allotter) places(candidates []v1alpha1.Device) [][]v1alpha1.DeviceID {
	sorted := slices.Clone(candidates)
	if a.numbered && !slices.ContainsFunc(sorted, func(d v1alpha1.Device) bool { return d.Index == nil }) {
		slices.SortStableFunc(sorted, func(x, y v1alpha1.Device) int { return cmp.Compare(*x.Index, *y.Index) })
	}
	var places [][]v1alpha1.DeviceID
	last := v1alpha1.DeviceID("")
	for i := range sorted {
		whole := sorted[i].ID
		if a.wholes && sorted[i].Partition != nil {
			whole = sorted[i].Partition.Parent
		}
		if whole != last {
			places = append(places, nil)
		}
		last = whole
		places[len(places)-1] = append(places[len(places)-1], sorted[i].ID)
	}
	return places
}

// guesses says whether the numbering is unknown: CUDA puts the fastest product first unless it is told otherwise.
func (a *allotter) guesses(candidates []v1alpha1.Device, environ []string) bool {
	if a.ordered == "" || slices.Contains(environ, a.ordered) {
		return false
	}
	return slices.ContainsFunc(candidates, func(d v1alpha1.Device) bool { return d.Product != candidates[0].Product })
}

// byUUID returns the devices whose UUID is the word or begins with it.
func byUUID(candidates []v1alpha1.Device, word string) []v1alpha1.DeviceID {
	const shortest = 8 // GPU- and some digits
	var ids []v1alpha1.DeviceID
	for i := range candidates {
		if len(word) >= shortest && strings.HasPrefix(candidates[i].UUID, word) {
			ids = append(ids, candidates[i].ID)
		}
	}
	return ids
}

// numberIn returns the device's number in a word; of 0.1, which names a tile, it is 0.
func numberIn(word string) (int, bool) {
	whole, _, _ := strings.Cut(word, ".")
	number, err := strconv.ParseUint(whole, 10, 16)
	return int(number), err == nil
}

// wordsOf divides a value at its commas and writes out ranges (0-3).
func wordsOf(value string) []string {
	var words []string
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		first, last, isRange := strings.Cut(word, "-")
		from, err := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if !isRange || err != nil || err2 != nil || to < from || to-from >= MaxDevices {
			words = append(words, word)
			continue
		}
		for number := from; number <= to; number++ {
			words = append(words, strconv.FormatUint(number, 10))
		}
	}
	return words
}
