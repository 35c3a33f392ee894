package explain

import (
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/plan/search"
)

// StageMemory is the arithmetic of the memory of each device of a stage.
type StageMemory struct {
	Stage, FirstLayer, LastLayer int
	// Lines are the components of UsedBytes.
	Lines     []memory.Line
	UsedBytes int64
	// Product and Node name the device of the stage that offers the least memory; Offer is the arithmetic of what it
	// offers.
	Product, Node string
	Offer         []memory.OfferLine
	// NeededBytes is the part of UsedBytes that the engine's rule compares with the offer, LeftBytes what the offer
	// exceeds it by.
	NeededBytes, LeftBytes int64
	// Sequences is how many sequences of the longest length the device has room for, over all data ranks of a copy; 0 in
	// training.
	Sequences int64
	// Running is how many it has room for as they run; 0 where all are held at full length.
	Running int64
}

// memory explains the stages of a portion.
func (e *explainer) memory(p *search.Portion) []StageMemory {
	t := e.Problem
	var list []StageMemory
	first := 0
	for i, end := range p.Ends {
		at := search.Fullest(t, p, i)
		d, n := t.Cluster.Device(at), t.Cluster.NodeOf(at)
		class := t.Classes[d.Class]
		have := t.Memory(d.Class)
		have.OthersBytes = max(0, have.TotalBytes-d.FreeBytes)
		s := StageMemory{
			Stage: i, FirstLayer: first, LastLayer: end - 1, Lines: p.Footprint.Explain(first, end), UsedBytes: p.Footprint.PerDevice(first, end).TotalBytes,
			Product: class.Name(), Node: n.Name, Offer: memory.ExplainOffer(t.Engine.Name, t.Workload.Training != nil, t.Permille(), have),
			NeededBytes: p.Footprint.Bytes(first, end),
		}
		s.LeftBytes = s.Offer[len(s.Offer)-1].Bytes - s.NeededBytes
		if t.Workload.Inference != nil {
			room, data := p.Footprint.Room(first, end, have), int64(max(1, p.Data))
			s.Sequences = room.Sequences * data
			if room.Running > room.Sequences {
				s.Running = room.Running * data
			}
		}
		list = append(list, s)
		first = end
	}
	return list
}
