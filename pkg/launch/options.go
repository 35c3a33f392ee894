package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// OptionsOf returns the options that a placement's spec.launch asks for; nil asks for none. The error names the field.
func OptionsOf(asked *v1alpha1.Launch) (Options, error) {
	if asked == nil {
		return Options{}, nil
	}
	hosts, err := ParseHosts(asked.Hosts)
	if err != nil {
		return Options{}, fmt.Errorf("launch.hosts: %w", err)
	}
	return Options{Hosts: hosts, PodDevices: asked.PodDevices(), Launcher: asked.Launcher}, nil
}
