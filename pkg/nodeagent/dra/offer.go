package dra

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// offer is what a node offers by claims.
type offer struct {
	// devices are in the order of the inventory; those that new pods may not get have taints that say why.
	devices []resourceapi.Device
	// served are all devices that are given out by claims, whether or not new pods may get them.
	served map[v1alpha1.DeviceID]bool
	// withheld are the devices that another server gives out.
	withheld []serving.Withheld
}

// offerOf sorts the devices that go through DRA. One that the device plugin cannot give up yet, after a change of the
// configuration, is in none of the three.
func offerOf(w serving.Wanted, node string) offer {
	o := offer{served: map[v1alpha1.DeviceID]bool{}}
	islands := islandsOf(w.Status.Links, node)
	for i := range w.Status.Devices {
		d := &w.Status.Devices[i]
		if !w.Through(serving.DRA, d) {
			continue
		}
		if reason := w.Taken(d); reason != "" {
			o.withheld = append(o.withheld, serving.Withheld{Device: d.ID, Reason: reason})
			continue
		}
		if s := d.Service; s != nil && s.Resource != v1alpha1.DRADriver {
			continue
		}
		o.served[d.ID] = true
		device := sliced(d, islands[d.ID])
		device.Taints = taintsOf(w, d)
		o.devices = append(o.devices, device)
	}
	return o
}
