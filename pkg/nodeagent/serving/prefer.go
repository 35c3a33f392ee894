package serving

import (
	"maps"
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
	chosen := slices.Compact(slices.Sorted(slices.Values(required)))
	free := map[v1alpha1.DeviceID][]string{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(available))) {
		if !slices.Contains(chosen, id) {
			free[deviceOf(id)] = append(free[deviceOf(id)], id)
		}
	}
	for missing := size - len(chosen); missing > 0 && len(free) > 0; missing = size - len(chosen) {
		devices := freest(free)
		if len(devices) > missing {
			devices = best(c, devices, chosen, missing)
		}
		for _, device := range devices {
			ids := free[device]
			chosen = append(chosen, ids[0])
			if free[device] = ids[1:]; len(ids) == 1 {
				delete(free, device)
			}
		}
	}
	return chosen
}

// freest are the devices with most free shares, in order of their ids.
func freest(free map[v1alpha1.DeviceID][]string) []v1alpha1.DeviceID {
	most := 0
	for _, ids := range free {
		most = max(most, len(ids))
	}
	fewer := func(d v1alpha1.DeviceID) bool { return len(free[d]) < most }
	return slices.DeleteFunc(slices.Sorted(maps.Keys(free)), fewer)
}

// best are as many of the devices as are missing: those that go best with what is chosen already.
func best(c chooser, devices []v1alpha1.DeviceID, chosen []string, missing int) []v1alpha1.DeviceID {
	var together []v1alpha1.DeviceID
	for _, id := range chosen {
		together = append(together, deviceOf(id))
	}
	slices.Sort(together)
	together = slices.Compact(together)
	candidates := slices.Compact(slices.Sorted(slices.Values(slices.Concat(devices, together))))
	// A device that is taken and a candidate at the same time cannot be asked for as both: it counts as taken.
	fresh := func(d v1alpha1.DeviceID) bool { return slices.Contains(devices, d) && !slices.Contains(together, d) }
	var best []v1alpha1.DeviceID
	for _, d := range c.Choose(candidates, together, len(together)+missing) {
		if fresh(d) && !slices.Contains(best, d) && len(best) < missing {
			best = append(best, d)
		}
	}
	for _, d := range devices {
		if len(best) < missing && !slices.Contains(best, d) {
			best = append(best, d)
		}
	}
	return best
}
