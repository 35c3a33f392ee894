package cost

// Loading is how the weights of an instance get from where they are stored to its devices. Rates are in bytes per second;
// one that is 0 does not bound.
type Loading struct {
	// NodeBytes is what the busiest node reads once, DeviceBytes what its fullest device gets.
	NodeBytes, DeviceBytes float64
	// Storage is what a node reads, HostLink what a device gets from its host.
	Storage, HostLink float64
}

// Seconds is the time to load the weights. Reading and copying overlap, so the slower of the two counts.
func (l Loading) Seconds() float64 {
	t := 0.0
	if l.Storage > 0 {
		t = l.NodeBytes / l.Storage
	}
	if l.HostLink > 0 {
		t = max(t, l.DeviceBytes/l.HostLink)
	}
	return t
}
