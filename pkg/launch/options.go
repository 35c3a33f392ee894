package launch

import (
	"fmt"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Annotations of a ModelPlacement that say how its pods are cut and reached, and by which launcher they are started.
const (
	// AnnotationHosts is the pattern of the pods' hosts (ParseHosts).
	AnnotationHosts = v1alpha1.Prefix + "pod-hosts"
	// AnnotationPodDevices is the number of devices of each pod, or all: without it a pod has all that a copy has on a node.
	AnnotationPodDevices = v1alpha1.Prefix + "pod-devices"
	// AnnotationLauncher names a launcher in place of those of the engine.
	AnnotationLauncher = v1alpha1.Prefix + "launcher"
)

// allDevices gives a pod every device that a copy has on a node.
const allDevices = "all"

// OptionsOf are the options that the annotations of a placement ask for.
func OptionsOf(annotations map[string]string) (Options, error) {
	var o Options
	var err error
	if o.Hosts, err = ParseHosts(annotations[AnnotationHosts]); err != nil {
		return Options{}, fmt.Errorf("annotation %s: %w", AnnotationHosts, err)
	}
	if text := annotations[AnnotationPodDevices]; text != "" && text != allDevices {
		if o.PodDevices, err = strconv.Atoi(text); err != nil || o.PodDevices < 1 {
			return Options{}, fmt.Errorf("annotation %s is %q: give a number of at least 1, or %s", AnnotationPodDevices, text, allDevices)
		}
	}
	return o, nil
}

// Write writes a placement down for a launcher, or where none is named for those of its engine.
func (j *Job) Write(launcher string) (*Bundle, error) {
	if launcher == "" {
		return j.ForEngine()
	}
	return j.For(launcher)
}
