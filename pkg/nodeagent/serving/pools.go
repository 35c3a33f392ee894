package serving

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// Offer is a device, or a share of one, under a resource: what the kubelet allocates.
type Offer struct{ Resource, ID string }

// listing is an offer as the kubelet is told of it.
type listing struct {
	// ID is what the kubelet calls the offer.
	ID string
	// Device is the device that a pod gets by the offer.
	Device v1alpha1.DeviceID
	// Healthy says that new pods may get the device, Reason why they may not.
	Healthy bool
	Reason  string
	// Leaving says that the device belongs elsewhere, or nowhere: the offer goes when it is free.
	Leaving bool
	// NUMA is the number of the device's NUMA node; nil where it is not known, never negative.
	NUMA *int32
}

// resourcePool is the devices of a resource.
type resourcePool struct {
	Resource string
	// Mode is how containers get the devices.
	Mode injection.Mode
	// Entries are in order of their ids.
	Entries []listing
}

// Withheld is a device that is to be served and cannot be.
type Withheld struct {
	Device v1alpha1.DeviceID
	Reason string
}

// Wanted is what the pools follow from.
type Wanted struct {
	Status *v1alpha1.AcceleratorInventoryStatus
	Spec   v1alpha1.AcceleratorInventorySpec
	Config Config
	// Busy are the offers that must stay listed: a pod holds them, may be getting them, or nobody knows that none does.
	Busy map[Offer]bool
	// Unusable says of devices why nothing would work in a container that got them.
	Unusable map[v1alpha1.DeviceID]string
}

// sortPools sorts the devices into the pools that they are offered in, in order of the resources. A device is in the resource
// of its slot, or else in the one of its kind. While an offer of it elsewhere is busy, it is listed there, as unhealthy,
// and not yet in its new place: never in both. Under a resource that somebody else serves on this node, nothing is offered.
func sortPools(w Wanted) ([]resourcePool, []Withheld) {
	s := sorting{Wanted: w, pools: map[string]*resourcePool{}, foreign: map[string]v1alpha1.DeviceServer{}, listed: map[v1alpha1.DeviceID]bool{}}
	for _, d := range w.Status.Devices {
		if by := d.Service; by != nil && by.Server != v1alpha1.ServedByRankwright {
			s.foreign[by.Resource] = by.Server
		}
	}
	for i := range w.Status.Devices {
		s.device(&w.Status.Devices[i])
	}
	s.rest()
	pools := make([]resourcePool, 0, len(s.pools))
	for _, resource := range slices.Sorted(maps.Keys(s.pools)) {
		pool := *s.pools[resource]
		slices.SortFunc(pool.Entries, func(a, b listing) int { return cmp.Compare(a.ID, b.ID) })
		pools = append(pools, pool)
	}
	return pools, s.withheld
}

// sorting is the state of sortPools.
type sorting struct {
	Wanted
	pools    map[string]*resourcePool
	withheld []Withheld
	// foreign are the resources and drivers of other servers.
	foreign map[string]v1alpha1.DeviceServer
	// listed are the devices that are where they belong.
	listed map[v1alpha1.DeviceID]bool
}

// device lists a device where it belongs, unless it is still elsewhere.
func (s *sorting) device(d *v1alpha1.Device) {
	config := s.Config.Vendors[d.Vendor]
	if !config.servedThrough(DevicePlugin) {
		return
	}
	home, shares, err := s.home(d, config)
	if err != nil {
		s.withheld = append(s.withheld, Withheld{d.ID, err.Error()})
		return
	}
	ids := offerIDs(d.ID, shares)
	for offer := range s.Busy {
		if deviceOf(offer.ID) == d.ID && (offer.Resource != home || !slices.Contains(ids, offer.ID)) {
			return // rest lists what is busy, and nothing else of this device
		}
	}
	reason := ""
	if obstacles := s.Obstacles(d); len(obstacles) > 0 {
		reason = obstacles[0].Text
	}
	for _, id := range ids {
		s.list(home, listing{ID: id, Healthy: reason == "", Reason: reason})
	}
	s.listed[d.ID] = true
}

// home is the resource that a device belongs to, and in how many shares.
func (s *sorting) home(d *v1alpha1.Device, config VendorConfig) (resource string, shares int, err error) {
	if reason := s.Taken(d); reason != "" {
		return "", 0, errors.New(reason)
	}
	for _, slot := range s.Status.Slots {
		if slot.Device == d.ID {
			return slot.Resource, 1, s.ours(slot.Resource)
		}
	}
	if resource, err = resourceOf(d, config); err != nil {
		return "", 0, err
	}
	return resource, config.shares(), s.ours(resource)
}

// ours says why nothing can be offered under a resource.
func (s *sorting) ours(resource string) error {
	if server, taken := s.foreign[resource]; taken {
		return fmt.Errorf("%s is served by another server (%s) on this node: remove it from the node, or rename the resource",
			resource, server)
	}
	return nil
}

// rest lists the busy offers that are no longer wanted.
func (s *sorting) rest() {
	for offer := range s.Busy {
		if !s.listed[deviceOf(offer.ID)] && s.ours(offer.Resource) == nil {
			s.list(offer.Resource, listing{ID: offer.ID, Reason: "is no longer offered under " + offer.Resource, Leaving: true})
		}
	}
}

// list enters an offer into its pool, and of which device it is.
func (s *sorting) list(resource string, entry listing) {
	entry.Device = deviceOf(entry.ID)
	if d := s.Status.Device(entry.Device); d != nil && d.NUMANode != nil && *d.NUMANode >= 0 {
		entry.NUMA = d.NUMANode
	}
	pool := s.pools[resource]
	if pool == nil {
		pool = &resourcePool{Resource: resource, Mode: s.Config.Vendors[entry.Device.Vendor()].Injection}
		s.pools[resource] = pool
	}
	pool.Entries = append(pool.Entries, entry)
}
