package mesh

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// seat is who sits on a rank.
type seat struct {
	node   string
	device v1alpha1.DeviceID
}

// replica is one copy: its shape, and who sits on its ranks.
type replica struct {
	batch *batch
	seats []seat
}

// seatsOf gives every rank of every copy its device.
func seatsOf(batches []batch, rows []v1alpha1.PlanRow) ([]replica, error) {
	var copies []replica
	for i := range batches {
		b := &batches[i]
		for range b.Strategy.Replicas {
			copies = append(copies, replica{b, make([]seat, b.mesh.WorldSize())})
		}
	}
	devices := 0
	for i := range rows {
		devices += len(rows[i].Devices)
	}
	holders := make(map[seat]bool, devices)
	for i := range rows {
		row := &rows[i]
		if row.Replica < 0 || int(row.Replica) >= len(copies) {
			return nil, fmt.Errorf("nodes[%d].replica is %d: the plan has copies 0 to %d", i, row.Replica, len(copies)-1)
		}
		for j, device := range row.Devices {
			here := seat{row.Node, device}
			if holders[here] {
				return nil, fmt.Errorf("nodes[%d].devices[%d]: device %s on %s has two ranks", i, j, device, row.Node)
			}
			holders[here] = true
			if err := copies[row.Replica].sit(row, j, here); err != nil {
				return nil, fmt.Errorf("nodes[%d].devices[%d]: %w", i, j, err)
			}
		}
	}
	return copies, checkSeats(copies)
}

// sit gives the rank of a row's device to it.
func (r *replica) sit(row *v1alpha1.PlanRow, index int, here seat) error {
	rank, err := rankOf(r.batch, row, index)
	if err != nil {
		return fmt.Errorf("copy %d: %w", row.Replica, err)
	}
	if taken := r.seats[rank]; taken.device != "" {
		return fmt.Errorf("rank %d of copy %d has two devices, %s on %s and %s on %s", rank, row.Replica, taken.device, taken.node, here.device, here.node)
	}
	r.seats[rank] = here
	return nil
}

// rankOf is the rank of a row's device in its copy. A plan's rows have no context rank: where context parallelism is above
// 1 their tensor rank counts on through the context ranks, tensor first, as all orders have it.
func rankOf(b *batch, row *v1alpha1.PlanRow, index int) (int, error) {
	s := &b.Strategy
	place := row.Place(s, index)
	rank := 0
	for _, c := range []struct {
		name string
		at   int32
	}{{"tp", place.Tensor % s.Tensor}, {"cp", place.Tensor / s.Tensor}, {"pp", place.Stage}, {"dp", place.Data}} {
		if c.at == 0 {
			continue // also where the order lacks the dimension
		}
		offset, err := b.mesh.offset(c.name, int(c.at))
		if err != nil {
			return 0, err
		}
		rank += offset
	}
	return rank, nil
}

// checkSeats says which rank lacks a device.
func checkSeats(copies []replica) error {
	for number, copied := range copies {
		for rank, s := range copied.seats {
			if s.device == "" {
				return fmt.Errorf("rank %d of copy %d has no device: every rank needs exactly one", rank, number)
			}
		}
	}
	return nil
}

// libraryOf is the library of the copies of a shape. The error names a rank whose library differs from the first rank's. A device
// whose host is not known is taken to be like the others of its vendor.
func libraryOf(copies []replica, engine v1alpha1.Engine, hosts Hosts) (Library, error) {
	first := hosts.seat(copies[0].seats[0].node, copies[0].seats[0].device).Hardware
	common, last := libraryFor(first, engine), first
	for number, copied := range copies {
		for rank, s := range copied.seats {
			h := hosts.seat(s.node, s.device).Hardware
			if h == last || h.Vendor == first.Vendor && h.Family == "" {
				continue
			}
			if first.Family == "" && h.Vendor == first.Vendor {
				first, common = h, libraryFor(h, engine)
			}
			if l := libraryFor(h, engine); l != common || h.Vendor != first.Vendor {
				return Library{}, fmt.Errorf("rank %d of copy %d is a device of %s, others of its shape are of %s: vendors have no communication library in common (%s and %s)",
					rank, int(copied.batch.FirstReplica)+number, h, first, l, common)
			}
			last = h
		}
	}
	return common, nil
}
