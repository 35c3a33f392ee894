package holding

import (
	"cmp"
	"encoding/json"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/price"
)

// Totals are counts and sums of devices.
type Totals struct {
	Devices int `json:"devices"`
	// Healthy are those whose health is Healthy, Cordoned those on which nothing new is put.
	Healthy  int `json:"healthy"`
	Cordoned int `json:"cordoned,omitempty"`
	// Conditions counts the devices by their condition.
	Conditions map[Condition]int `json:"conditions"`
	// MemoryMiB is all memory, HeldMiB that of devices in use or reserved; of it PlannedMiB is what plans take. OthersMiB is what processes of no known
	// pod use, and FreeMiB what a new plan may have.
	MemoryMiB  int64 `json:"memoryMiB"`
	HeldMiB    int64 `json:"heldMiB"`
	PlannedMiB int64 `json:"plannedMiB"`
	OthersMiB  int64 `json:"othersMiB"`
	FreeMiB    int64 `json:"freeMiB"`
	// Utilization is how busy the devices are that show it.
	Utilization Mean `json:"utilization,omitzero"`
	// MicroUSDPerHour is what the devices cost, in millionths of a US dollar an hour, by the cheapest known offer of each product, IdleMicroUSDPerHour what the
	// idle ones of them do. Unpriced counts the devices of which no price is known.
	MicroUSDPerHour     int64 `json:"microUSDPerHour"`
	IdleMicroUSDPerHour int64 `json:"idleMicroUSDPerHour"`
	Unpriced            int   `json:"unpriced,omitempty"`
}

// Mean is the mean of percentages: their sum, and how many they are.
type Mean struct{ Sum, Of int64 }

// Percent is the mean, to the nearest percent; 0 of none.
func (m Mean) Percent() int64 { return (2*m.Sum + m.Of) / max(2*m.Of, 1) }

// IsZero says whether there is nothing to take the mean of.
func (m Mean) IsZero() bool { return m.Of == 0 }

// MarshalJSON writes the mean and how many devices it is of.
func (m Mean) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		MeanPercent int64 `json:"meanPercent"`
		Devices     int64 `json:"devices"`
	}{m.Percent(), m.Of})
}

// Add adds a device.
func (t *Totals) Add(d *Device) {
	if t.Conditions == nil {
		t.Conditions = map[Condition]int{}
	}
	t.Devices++
	t.Conditions[d.Condition]++
	if d.Health.State == v1alpha1.Healthy {
		t.Healthy++
	}
	if d.Cordoned {
		t.Cordoned++
	}
	t.MemoryMiB += d.Memory.TotalMiB
	t.PlannedMiB += d.Memory.PlannedMiB
	t.OthersMiB += d.Memory.OthersMiB
	t.FreeMiB += d.Memory.FreeMiB
	if d.Held() {
		t.HeldMiB += d.Memory.TotalMiB
	}
	if u := d.Utilization; u != nil {
		t.Utilization = Mean{t.Utilization.Sum + u.Percent, t.Utilization.Of + 1}
	}
	cost, known := d.Hourly()
	t.MicroUSDPerHour += cost
	if d.Condition == Idle {
		t.IdleMicroUSDPerHour += cost
	}
	if !known {
		t.Unpriced++
	}
}

// ProductName is the product, or the vendor where that is not known.
func (d *Device) ProductName() string { return cmp.Or(d.Product, d.Vendor+" device") }

// Held says whether a pod or a plan has the device.
func (d *Device) Held() bool { return d.Condition == InUse || d.Condition == Reserved }

// Hourly is what the device costs an hour in millionths of a US dollar, and whether that is known. Of partitions no price is.
func (d *Device) Hourly() (microUSD int64, known bool) {
	table, err := price.Load()
	if err != nil || d.Parent != "" {
		return 0, false
	}
	p, known := table.PerDeviceHour(d.Product)
	return p.MicroUSDPerHour, known
}

// Sum adds devices up.
func Sum(devices []Device) Totals {
	var t Totals
	for i := range devices {
		t.Add(&devices[i])
	}
	return t
}

// Group is devices that have something in common.
type Group struct {
	Name   string `json:"name"`
	Totals Totals `json:"totals"`
}

// Grouped adds devices up by what they have in common, in order of that.
func Grouped(devices []Device, by func(*Device) string) []Group {
	groups := map[string]*Group{}
	for i := range devices {
		name := by(&devices[i])
		if groups[name] == nil {
			groups[name] = &Group{Name: name}
		}
		groups[name].Totals.Add(&devices[i])
	}
	made := make([]Group, 0, len(groups))
	for _, group := range sorted(groups, cmp.Compare[string]) {
		made = append(made, *group)
	}
	return made
}
