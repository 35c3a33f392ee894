package pipeline

// Client stands for the clients in a Hop: the sender of prompts and the receiver of tokens.
const Client = -1

// Hop is what flows from one device to the next, as indexes of devices or Client.
type Hop struct {
	From, To int
	// Rate is in tokens a second.
	Rate float64
}

// Throughput is the most tokens a second that a layout of spans, one for each device, carries from the first layer to
// the last, and the flow over each hop that reaches it: the weights by which requests are to be spread. A device hands
// over only to devices whose span starts where its own ends.
func (f *Fleet) Throughput(spans []Span) (float64, []Hop, error) {
	if err := f.validate(); err != nil {
		return 0, nil, err
	}
	if len(spans) != len(f.Devices) {
		return 0, nil, invalid("there are %d spans: give one for each of %d devices", len(spans), len(f.Devices))
	}
	for i, s := range spans {
		if s.Empty() {
			continue
		}
		if s.Start < 0 || s.End > f.Layers {
			return 0, nil, invalid("spans[%d] is [%d, %d): give layers between 0 and %d", i, s.Start, s.End, f.Layers)
		}
		if held := len(f.Devices[i].Rates); s.End-s.Start > held {
			return 0, nil, invalid("spans[%d] has %d layers: the device holds at most %d", i, s.End-s.Start, held)
		}
	}
	g := &flowGraph{}
	hops, arcs := f.connectDevices(g, spans, f.Layers)
	rate := g.maximum(0, 1)
	flowing := hops[:0]
	for i, hop := range hops {
		if hop.Rate = g.flow(arcs[i]); hop.Rate > 0 {
			flowing = append(flowing, hop)
		}
	}
	return rate, flowing, nil
}

// connectDevices builds the graph of a layout: vertex 0 sends, vertex 1 receives, and each device is an arc of its rate
// between two vertices of its own. Devices that reach beyond `at` deliver to the receiver, as if what follows them were
// no bound. Hops and their arcs are returned in a fixed order.
func (f *Fleet) connectDevices(g *flowGraph, spans []Span, at int) ([]Hop, []int) {
	g.reset(2 + 2*len(spans))
	var hops []Hop
	var arcs []int
	hop := func(from, to, tail, head int, capacity float64) {
		hops = append(hops, Hop{From: from, To: to})
		arcs = append(arcs, g.connect(tail, head, min(capacity, unbounded)))
	}
	for i, s := range spans {
		if s.Empty() {
			continue
		}
		in, out := 2+2*i, 3+2*i
		g.connect(in, out, f.Devices[i].Rates[s.End-s.Start-1])
		if s.Start == 0 {
			hop(Client, i, 0, in, f.Links.in(i))
		}
		switch {
		case s.End == f.Layers:
			hop(i, Client, out, 1, f.Links.out(i))
		case s.End > at:
			g.connect(out, 1, unbounded)
		default:
			for j, t := range spans {
				if !t.Empty() && t.Start == s.End {
					hop(i, j, out, 2+2*j, f.Links.between(i, j))
				}
			}
		}
	}
	return hops, arcs
}

// unbounded is more than all devices of a fleet carry, and still finite.
const unbounded = maxRate * maxDevices

func (l *Links) in(i int) float64 {
	if l == nil {
		return unbounded
	}
	return l.In[i]
}

func (l *Links) out(i int) float64 {
	if l == nil {
		return unbounded
	}
	return l.Out[i]
}

func (l *Links) between(i, j int) float64 {
	if l == nil {
		return unbounded
	}
	return l.Between[i][j]
}
