package binding

import (
	"errors"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// placesOf returns the places of a mesh's pods, for which the launchers' files are made too. A pod's index is its index in the
// list.
func placesOf(mesh *v1alpha1.DeviceMeshSpec, asked *v1alpha1.Launch) ([]launch.Pod, error) {
	places, err := launch.Pods(mesh, asked.PodDevices(), asked.Starter())
	if size, is := errors.AsType[*launch.SizeError](err); is {
		return nil, refuse(ReasonDevicesDiffer, "%s", size.Error())
	}
	return places, err
}

// copySizes returns the number of pods of each copy.
func copySizes(places []launch.Pod) []int32 {
	var sizes []int32
	for i := range places {
		if i == 0 || places[i].Copy != places[i-1].Copy {
			sizes = append(sizes, 0)
		}
		sizes[len(sizes)-1]++
	}
	return sizes
}

// DevicesText lists devices as a bound pod's annotation v1alpha1.AnnotationDevices does.
func DevicesText(devices []v1alpha1.DeviceID) string {
	names := make([]string, len(devices))
	for i, device := range devices {
		names[i] = string(device)
	}
	return strings.Join(names, ",")
}
