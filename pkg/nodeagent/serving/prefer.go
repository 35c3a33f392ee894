package serving

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// chooser chooses devices that belong together; it is preference.Topology's.
type chooser interface {
	Choose(available, required []v1alpha1.DeviceID, size int) []v1alpha1.DeviceID
}

// prefer chooses size of the available offers, those required among them. Shared devices are taken in turns, those first
// of which most shares are free, so that pods spread over the devices. It always answers: what the chooser leaves open is
// filled in the order of the ids, and where less is available, all of it is the answer.
func prefer(c chooser, available, required []string, size int) []string {
	s := &choice{chooser: c, size: size, free: map[v1alpha1.DeviceID][]string{}, taken: map[string]bool{}}
	for _, id := range slices.Sorted(slices.Values(required)) {
		s.take(id)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(available))) {
		if !s.taken[id] {
			s.free[deviceOf(id)] = append(s.free[deviceOf(id)], id)
		}
	}
	for s.missing() > 0 && len(s.free) > 0 {
		s.takeOneOfEach(s.freest())
	}
	return s.chosen
}

// choice is the state of prefer.
type choice struct {
	chooser chooser
	size    int
	chosen  []string
	taken   map[string]bool
	// free are the ids of each device that are left, in order.
	free map[v1alpha1.DeviceID][]string
}

func (s *choice) missing() int { return s.size - len(s.chosen) }

func (s *choice) take(id string) {
	if !s.taken[id] {
		s.taken[id] = true
		s.chosen = append(s.chosen, id)
	}
}

// freest are the devices with most free shares, in order of their ids.
func (s *choice) freest() []v1alpha1.DeviceID {
	most := 0
	var devices []v1alpha1.DeviceID
	for device, ids := range s.free {
		if len(ids) > most {
			most, devices = len(ids), nil
		}
		if len(ids) == most {
			devices = append(devices, device)
		}
	}
	slices.Sort(devices)
	return devices
}

// takeOneOfEach takes an offer of each device, or where that is too much, of those that go best with what is taken already.
func (s *choice) takeOneOfEach(devices []v1alpha1.DeviceID) {
	if len(devices) > s.missing() {
		devices = s.best(devices)
	}
	for _, device := range devices {
		ids := s.free[device]
		s.take(ids[0])
		if s.free[device] = ids[1:]; len(ids) == 1 {
			delete(s.free, device)
		}
	}
}

// best are as many of the devices as are missing.
func (s *choice) best(devices []v1alpha1.DeviceID) []v1alpha1.DeviceID {
	var together []v1alpha1.DeviceID
	for id := range s.taken {
		together = append(together, deviceOf(id))
	}
	slices.Sort(together)
	together = slices.Compact(together)
	candidates := slices.Compact(slices.Sorted(slices.Values(slices.Concat(devices, together))))
	// A device that is taken and a candidate at the same time cannot be asked for as both: it counts as taken.
	fresh := func(d v1alpha1.DeviceID) bool { return slices.Contains(devices, d) && !slices.Contains(together, d) }
	var best []v1alpha1.DeviceID
	for _, d := range s.chooser.Choose(candidates, together, len(together)+s.missing()) {
		if fresh(d) && !slices.Contains(best, d) && len(best) < s.missing() {
			best = append(best, d)
		}
	}
	for _, d := range devices {
		if len(best) < s.missing() && !slices.Contains(best, d) {
			best = append(best, d)
		}
	}
	return best
}
