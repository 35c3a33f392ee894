package meshes

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Bundle returns the pods of a mesh and the files that their launchers need. An error says why they cannot be started.
func Bundle(placement *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan, spec *v1alpha1.DeviceMeshSpec, hosts mesh.Hosts) (*launch.Job, *launch.Bundle, error) {
	options, err := launch.OptionsOf(placement.Spec.Launch)
	if err != nil {
		return nil, nil, err
	}
	if options.NPUs, err = npusOf(hosts); err != nil {
		return nil, nil, err
	}
	options.Device = hosts.Device
	job, err := launch.NewJob(&plan.Spec, spec, options)
	if err != nil {
		return nil, nil, err
	}
	bundle, err := job.Write(options.Launcher)
	return job, bundle, err
}

// npusOf returns the Ascend devices of hosts, by node and device.
func npusOf(hosts mesh.Hosts) (map[string]map[v1alpha1.DeviceID]launch.NPU, error) {
	all := map[string]map[v1alpha1.DeviceID]launch.NPU{}
	for name, host := range hosts {
		if host.Inventory == nil {
			continue
		}
		npus, err := launch.NPUs(name, host.Inventory, host.Annotations)
		if err != nil {
			return nil, err
		}
		all[name] = npus
	}
	return all, nil
}
