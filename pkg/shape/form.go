package shape

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// ZoneForm stands for zones that nothing but names tells apart, by the parts of one of them: their parts, in the order of their devices, are of the
// same kinds, and on the same or on other sites.
type ZoneForm struct{ Parts []int32 }

// forms are the forms of a pool's zones.
type forms struct {
	all []ZoneForm
	of  []int32 // by zone; -1 for zones without parts
}

// ZoneForms returns the forms of the pool's zones.
func (p *Pool) ZoneForms() []ZoneForm { return p.zoneForms().all }

// FormOf returns the number of the form of a zone that has parts.
func (p *Pool) FormOf(zone int) int32 { return p.zoneForms().of[zone] }

// zoneForms finds the forms of the pool's zones, once.
func (p *Pool) zoneForms() *forms {
	if p.forms != nil {
		return p.forms
	}
	p.forms = &forms{of: make([]int32, len(p.Zones))}
	known := map[string]int32{}
	var key []byte
	var parts []int32
	var sites []int32
	for i := range p.Zones {
		p.forms.of[i] = -1
		if len(p.Zones[i].Parts) == 0 {
			continue
		}
		parts = append(parts[:0], p.Zones[i].Parts...)
		slices.SortFunc(parts, func(a, b int32) int { return cmp.Compare(p.Parts[a].Devices[0], p.Parts[b].Devices[0]) })
		key, sites = key[:0], sites[:0]
		for _, at := range parts {
			site := slices.Index(sites, p.Parts[at].Site)
			if site < 0 {
				site = len(sites)
				sites = append(sites, p.Parts[at].Site)
			}
			key = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(key, uint32(p.Parts[at].Kind)), uint32(site))
		}
		form, ok := known[string(key)]
		if !ok {
			form = int32(len(p.forms.all))
			known[string(key)] = form
			p.forms.all = append(p.forms.all, ZoneForm{p.Zones[i].Parts})
		}
		p.forms.of[i] = form
	}
	return p.forms
}
