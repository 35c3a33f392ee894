package podresources

import (
	"maps"
	"slices"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// successionGrace is how long a server of devices is taken to be away only, after the last sign of it. The kubelet waits as
// long for a plugin that ended (endpointStopGracePeriod of pkg/kubelet/cm/devicemanager in Kubernetes 1.36), and after a
// start of its own it forgets for a moment what every plugin serves.
const successionGrace = 5 * time.Minute

// Owners say through whom pods get the devices of a node. A device that nobody serves is not in it.
type Owners map[v1alpha1.DeviceID]v1alpha1.DeviceService

// other returns who else than this agent serves a device.
func (o Owners) other(id v1alpha1.DeviceID) (v1alpha1.DeviceService, bool) {
	service, served := o[id]
	return service, served && service.Server != v1alpha1.ServedByRankwright
}

// Evidence is what tells who serves the devices of a node.
type Evidence struct {
	// Offered are the healthy devices that the kubelet has from device plugins; nil where it does not say.
	Offered []Name
	// Published is what DRA drivers offer.
	Published Published
	// Allocatable are the extended resources in the Node's status. They stand in where Offered is nil: a resource of a
	// known vendor then means all of its devices.
	Allocatable map[string]int64
	// Ours says which resources this agent serves; nil means none. It matters for Allocatable alone, where ids do not tell.
	Ours func(resource string) bool
}

// Owners says who serves the devices by the evidence of one moment. Another server comes before this agent, which gives
// way, and a device plugin before a DRA driver.
func (h *Hardware) Owners(e Evidence) Owners {
	owners := Owners{}
	own := func(id v1alpha1.DeviceID, s v1alpha1.DeviceService) {
		if before, served := owners[id]; !served || before.Server == v1alpha1.ServedByRankwright {
			owners[id] = s
		}
	}
	for _, name := range e.names() {
		if id, ours := h.own(name); ours {
			if _, served := owners[id]; !served {
				owners[id] = v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: name.Resource}
			}
			continue
		}
		service := v1alpha1.DeviceService{Server: name.Server, Resource: name.Resource}
		for _, id := range h.Find(name) {
			own(id, service)
		}
	}
	for _, name := range e.vague(h) {
		naming := namingOf(name.Server, name.Resource)
		for i := range h.devices {
			if d := &h.devices[i]; naming.serves(d) {
				own(d.ID, v1alpha1.DeviceService{Server: name.Server, Resource: name.Resource})
			}
		}
	}
	return owners
}

// names are all the names that are offered, device plugins first.
func (e Evidence) names() []Name {
	names := slices.DeleteFunc(slices.Clone(e.Offered), func(n Name) bool { return monitoring(n.Resource) })
	return append(names, slices.SortedFunc(maps.Keys(e.Published), compareNames)...)
}

// vague are names of known vendors of which nothing tells the device: their server is taken to serve every device of its
// kind that nobody else is known to serve.
func (e Evidence) vague(h *Hardware) []Name {
	var vague []Name
	for _, name := range e.names() {
		if namingOf(name.Server, name.Resource) != nil && len(h.Find(name)) == 0 {
			vague = append(vague, name)
		}
	}
	if e.Offered != nil {
		return vague
	}
	for _, resource := range slices.Sorted(maps.Keys(e.Allocatable)) {
		ours := e.Ours != nil && e.Ours(resource)
		if e.Allocatable[resource] > 0 && !ours && !monitoring(resource) && namingOf(v1alpha1.ServedByDevicePlugin, resource) != nil {
			vague = append(vague, Name{Server: v1alpha1.ServedByDevicePlugin, Resource: resource})
		}
	}
	return vague
}

// Succession remembers who served the devices, so that a server that is away for a moment does not lose them to another.
// The zero value has no memory.
type Succession struct {
	owners Owners
	alive  map[v1alpha1.DeviceService]time.Time
}

// Recall takes what was published before the agent started for what was just seen.
func (s *Succession) Recall(devices []v1alpha1.Device, now time.Time) {
	s.owners, s.alive = Owners{}, map[v1alpha1.DeviceService]time.Time{}
	for i := range devices {
		if service := devices[i].Service; service != nil && service.Server != v1alpha1.ServedByRankwright {
			s.owners[devices[i].ID] = *service
			s.alive[*service] = now
		}
	}
}

// Update returns the owners, given the owners seen at this moment. Another server keeps a device that it does not offer while
// it offers any other one, since unhealthy devices are not offered, and for five minutes after the last sign of it. next is
// when the first server loses its devices, if nothing is heard of it until then; zero where none does.
func (s *Succession) Update(seen Owners, now time.Time) (owners Owners, next time.Time) {
	if s.alive == nil {
		s.alive = map[v1alpha1.DeviceService]time.Time{}
	}
	offering := map[v1alpha1.DeviceService]bool{}
	for id := range seen {
		if service, other := seen.other(id); other {
			s.alive[service], offering[service] = now, true
		}
	}
	owners = maps.Clone(seen)
	for id, service := range s.owners {
		_, other := seen.other(id)
		until := s.alive[service].Add(successionGrace)
		if other || !now.Before(until) {
			continue
		}
		owners[id] = service
		if !offering[service] && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	s.owners = maps.Clone(owners)
	maps.DeleteFunc(s.owners, func(id v1alpha1.DeviceID, _ v1alpha1.DeviceService) bool {
		_, other := owners.other(id)
		return !other
	})
	maps.DeleteFunc(s.alive, func(_ v1alpha1.DeviceService, last time.Time) bool { return now.Sub(last) >= successionGrace })
	return owners, next
}
