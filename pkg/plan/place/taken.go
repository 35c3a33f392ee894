package place

// Taken is devices of a cluster that copies have been placed on. The zero value is none.
type Taken struct {
	bits  []uint64 // by the numbers of the devices
	count int
}

func (t *Taken) has(at int32) bool {
	word := int(at / 64)
	return word < len(t.bits) && t.bits[word]>>(at%64)&1 == 1
}

// Add adds devices.
func (t *Taken) Add(devices ...int32) {
	for _, at := range devices {
		if t.has(at) {
			continue
		}
		if more := int(at/64) + 1 - len(t.bits); more > 0 {
			t.bits = append(t.bits, make([]uint64, more)...)
		}
		t.bits[at/64] |= 1 << (at % 64)
		t.count++
	}
}

func (t *Taken) remove(devices []int32) {
	for _, at := range devices {
		if t.has(at) {
			t.bits[at/64] &^= 1 << (at % 64)
			t.count--
		}
	}
}

func (t *Taken) clear() {
	clear(t.bits)
	t.count = 0
}
