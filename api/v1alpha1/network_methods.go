package v1alpha1

import "slices"

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
	overRDMA := s.SendsOverRDMA()
	var sum, fastest, devices int64
	for i := range s.NICs {
		if nic := &s.NICs[i]; nic.Up && rdma[nic.Kind] == overRDMA {
			rate := min(max(int64(nic.Gbps), 0), maxGbps) * gigabit
			sum, fastest = sum+rate, max(fastest, rate)
		}
	}
	for i := range s.Devices {
		if s.Devices[i].Family != FamilyCPU {
			devices++
		}
	}
	return min(fastest, sum/max(1, devices))
}

// SendsOverRDMA says whether the node's share of the network is one of ports with RDMA, over which no TCP goes.
func (s *AcceleratorInventoryStatus) SendsOverRDMA() bool {
	return slices.ContainsFunc(s.NICs, func(nic NIC) bool { return nic.Up && nic.Gbps > 0 && rdma[nic.Kind] })
}
