package v1alpha1

// rdma are the kinds of network ports that engines send over where there are any.
var rdma = map[string]bool{NICInfiniBand: true, NICRoCE: true, NICIWARP: true, NICEFA: true}

const (
	// gigabit is a Gbps in bytes per second.
	gigabit = 125_000_000
	// maxGbps bounds the rate of a port, so that sums of what a broken tool prints do not overflow.
	maxGbps = 1 << 24
)

// NetworkShare is what each accelerator of the node can send to other nodes at once, in bytes per second: its share of
// the ports that are up, of those with RDMA where there are any, and no more than the fastest of them. It is 0 where no
// port is known.
func (s *AcceleratorInventoryStatus) NetworkShare() int64 {
	var sum, fastest [2]int64
	for i := range s.NICs {
		nic := &s.NICs[i]
		kind := 0
		if rdma[nic.Kind] {
			kind = 1
		}
		if rate := min(max(int64(nic.Gbps), 0), maxGbps) * gigabit; nic.Up {
			sum[kind], fastest[kind] = sum[kind]+rate, max(fastest[kind], rate)
		}
	}
	kind := 0
	if sum[1] > 0 {
		kind = 1
	}
	devices := int64(0)
	for i := range s.Devices {
		if s.Devices[i].Family != FamilyCPU {
			devices++
		}
	}
	return min(fastest[kind], sum[kind]/max(1, devices))
}

// SendsOverRDMA says whether the node's share of the network is one of ports with RDMA, over which no TCP goes.
func (s *AcceleratorInventoryStatus) SendsOverRDMA() bool {
	for i := range s.NICs {
		if nic := &s.NICs[i]; nic.Up && nic.Gbps > 0 && rdma[nic.Kind] {
			return true
		}
	}
	return false
}
