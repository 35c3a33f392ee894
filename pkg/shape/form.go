package shape

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// ZoneForm stands for zones that nothing but names tells apart: their parts, in the order of their devices, are of the same kinds, and on the
// same or on other sites.
type ZoneForm struct {
	// First is the first of the zones, Zones how many they are.
	First int32
	Zones int
}

// forms are the forms of a pool's zones.
type forms struct {
	all []ZoneForm
	of  []int32 // by zone
	// order is the zones that have parts, those with the fewest devices first.
	order []int32
}

// ZoneForms returns the forms of the pool's zones by their numbers, those of zones with the fewest devices first.
func (p *Pool) ZoneForms() []ZoneForm { return p.zoneForms().all }

// ZoneOrder returns the zones that have parts, those with the fewest devices first.
func (p *Pool) ZoneOrder() []int32 { return p.zoneForms().order }

// FormOf returns the number of the form of a zone that has parts.
func (p *Pool) FormOf(zone int32) int32 { return p.zoneForms().of[zone] }

// zoneForms finds the forms of the pool's zones, once.
func (p *Pool) zoneForms() *forms {
	if p.forms != nil {
		return p.forms
	}
	p.forms = &forms{of: make([]int32, len(p.Zones))}
	for i := range p.Zones {
		if len(p.Zones[i].Parts) > 0 {
			p.forms.order = append(p.forms.order, int32(i))
		}
	}
	slices.SortStableFunc(p.forms.order, func(a, b int32) int { return cmp.Compare(p.Zones[a].Devices, p.Zones[b].Devices) })
	known := map[string]int32{}
	var key []byte
	var parts []int32
	var sites []int32
	for _, zone := range p.forms.order {
		parts = append(parts[:0], p.Zones[zone].Parts...)
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
			p.forms.all = append(p.forms.all, ZoneForm{First: zone})
		}
		p.forms.of[zone] = form
		p.forms.all[form].Zones++
	}
	return p.forms
}
