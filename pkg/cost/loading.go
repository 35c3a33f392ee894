package cost

// Loading is how the weights of an instance get from where they are stored to its devices. Rates are in bytes per second;
// a rate of 0 is no bound.
type Loading struct {
	// NodeBytes is what the busiest node reads once, DeviceBytes what the fullest device of that node gets.
	NodeBytes, DeviceBytes float64
	// Storage is the rate at which a node reads from its disk, Network the rate from another node where the weights come
	// from one, HostLink the rate at which a device receives from its host.
	Storage, Network, HostLink float64
}

// Seconds returns the time to load the weights. Reading, receiving and copying overlap, so the slowest counts.
func (l Loading) Seconds() float64 {
	t := 0.0
	for _, way := range [3]struct{ bytes, rate float64 }{
		{l.NodeBytes, l.Storage}, {l.NodeBytes, l.Network}, {l.DeviceBytes, l.HostLink},
	} {
		if way.rate > 0 {
			t = max(t, way.bytes/way.rate)
		}
	}
	return t
}
