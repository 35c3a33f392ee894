package launch

import (
	"fmt"
	"strconv"
)

// OptionsOf returns the options that the annotations of a placement ask for.
func OptionsOf(annotations map[string]string) (Options, error) {
	var o Options
	var err error
	if o.Hosts, err = ParseHosts(annotations[AnnotationHosts]); err != nil {
		return Options{}, fmt.Errorf("annotation %s: %w", AnnotationHosts, err)
	}
	if o.PodDevices, err = ParsePodDevices(annotations[AnnotationPodDevices]); err != nil {
		return Options{}, fmt.Errorf("annotation %s: %w", AnnotationPodDevices, err)
	}
	return o, nil
}

// ParsePodDevices reads the number of devices of each pod: 0 stands for all that a copy has on a node, which an empty text
// means as well.
func ParsePodDevices(text string) (int, error) {
	if text == "" || text == allDevices {
		return 0, nil
	}
	devices, err := strconv.Atoi(text)
	if err != nil || devices < 1 {
		return 0, fmt.Errorf("%q is no number of devices: give one of at least 1, or %s", text, allDevices)
	}
	return devices, nil
}

// PodDevicesText returns the text of a number of devices of each pod.
func PodDevicesText(devices int) string {
	if devices == 0 {
		return allDevices
	}
	return strconv.Itoa(devices)
}
