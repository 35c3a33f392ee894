package paths

import "slices"

// class is devices that can change places in any layout without changing its throughput.
type class struct {
	rates   []float64
	devices []int
}

// classes groups the devices. To change places with the first of a class is enough, since such exchanges generate all.
func (f *Fleet) classes(binding bool) []class {
	var classes []class
	for d := range f.Devices {
		at := slices.IndexFunc(classes, func(c class) bool {
			return slices.Equal(c.rates, f.Devices[d].Rates) && (!binding || f.Links.exchangeable(c.devices[0], d))
		})
		if at < 0 {
			at, classes = len(classes), append(classes, class{rates: f.Devices[d].Rates})
		}
		classes[at].devices = append(classes[at].devices, d)
	}
	return classes
}

// exchangeable says whether two devices have the same links to all others, to each other and to the clients.
func (l *Links) exchangeable(a, b int) bool {
	if l.In[a] != l.In[b] || l.Out[a] != l.Out[b] || l.Between[a][b] != l.Between[b][a] {
		return false
	}
	for c := range l.Between {
		if c != a && c != b && (l.Between[a][c] != l.Between[b][c] || l.Between[c][a] != l.Between[c][b]) {
			return false
		}
	}
	return true
}
