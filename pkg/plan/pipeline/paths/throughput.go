package paths

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
	n := network{}
	n.connect(f, spans, f.Layers)
	rate := n.graph.maximum(receiver)
	flowing := n.hops[:0]
	for i, hop := range n.hops {
		if hop.Rate = n.graph.flow(n.arcs[i]); hop.Rate > 0 {
			flowing = append(flowing, hop)
		}
	}
	return rate, flowing, nil
}

// evaluate returns the throughput of a layout that is known to be valid.
func (f *Fleet) evaluate(spans []Span) float64 {
	n := network{}
	n.connect(f, spans, f.Layers)
	return n.graph.maximum(receiver)
}

// network is the graph of a layout, in which each device is an arc of its rate between two vertices of its own.
type network struct {
	graph flowGraph
	hops  []Hop
	arcs  []int // of each hop
}

// The vertices of the clients.
const (
	sender = iota // where flow starts
	receiver
	firstDevice
)

func (n *network) hop(l *Links, from, to, tail, head int) {
	n.hops = append(n.hops, Hop{From: from, To: to})
	n.arcs = append(n.arcs, n.graph.connect(tail, head, min(l.capacity(from, to), unbounded)))
}

// connect builds the network. Devices that reach beyond `at` deliver to the receiver, as if what follows them were no
// bound. Hops come in a fixed order.
func (n *network) connect(f *Fleet, spans []Span, at int) {
	n.graph.reset(firstDevice + 2*len(spans))
	n.hops, n.arcs = n.hops[:0], n.arcs[:0]
	for i, s := range spans {
		if s.Empty() {
			continue
		}
		in, out := firstDevice+2*i, firstDevice+2*i+1
		n.graph.connect(in, out, f.Devices[i].Rates[s.End-s.Start-1])
		if s.Start == 0 {
			n.hop(f.Links, Client, i, sender, in)
		}
		switch {
		case s.End == f.Layers:
			n.hop(f.Links, i, Client, out, receiver)
		case s.End > at:
			n.graph.connect(out, receiver, unbounded)
		default:
			for j, t := range spans {
				if !t.Empty() && t.Start == s.End {
					n.hop(f.Links, i, j, out, firstDevice+2*j)
				}
			}
		}
	}
}

// unbounded is more than all devices of a fleet carry, and still finite.
const unbounded = maxRate * maxDevices

// capacity returns what the link of a hop carries.
func (l *Links) capacity(from, to int) float64 {
	switch {
	case l == nil:
		return unbounded
	case from == Client:
		return l.In[to]
	case to == Client:
		return l.Out[from]
	default:
		return l.Between[from][to]
	}
}
