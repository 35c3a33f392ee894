package search

import "sort"

// walk goes through numbers of copies that may do, rising.
type walk struct {
	*numbers
	// within is how many devices all copies may take together; equally lets each flavor have those that it has, for copies on one.
	within int
	// every is up to how many times the least number all are looked at.
	every int
}

// equally stands for copies on one flavor.
const equally = -1

// may says whether any of the numbers from low to high may do: a copy takes no less with any of them than with high, and they are no fewer than
// low.
func (f *numbers) may(low, high, within int) bool {
	t := f.takes(high)
	if within != equally {
		return t.devices > 0 && t.devices <= within/low
	}
	for flavor, devices := range t.on {
		if devices <= flavor.Devices/low {
			return true
		}
	}
	return false
}

// first returns the first number from low to high that may do; 0 where none does.
func (f *numbers) first(low, high, within int) int {
	step := f.problem.Copies
	high = low + (high-low)/step*step
	switch {
	case high < low || f.problem.Stopped() || !f.may(low, high, within):
		return 0
	case low == high:
		return low
	case low+step < high && f.may(low, low, within):
		return low
	}
	middle := low + (high-low)/step/2*step
	if found := f.first(low, middle, within); found > 0 {
		return found
	}
	return f.first(middle+step, high, within)
}

// from returns the first number from one on that the walk comes to and that may do; 0 where there is none. What may not do is passed over unseen: the
// walk stops wherever a copy takes fewer devices than before, so that from there on it goes as if it had come from further back.
func (w *walk) from(n int) int {
	step, last := w.problem.Copies, w.last()
	for n <= last {
		found := w.first(n, last, w.within)
		if found <= n {
			return found
		}
		if size := w.takes(found).size; w.takes(n).size != size {
			n += step * (1 + sort.Search((found-n)/step-1, func(i int) bool { return w.takes(n+step*(1+i)).size == size }))
		}
		for n < found {
			if further := w.further(n); further <= found {
				n = further
			} else {
				n = w.after(n)
			}
		}
	}
	return 0
}

// after returns the number that the walk comes to after one.
func (w *walk) after(n int) int {
	further := w.further(n)
	return min(further, w.next(n, min(further, w.last())))
}

// further is the number after one for copies that take as many devices each.
func (w *walk) further(n int) int {
	step := w.problem.Copies
	further := n + step*(1+n/step/w.every)
	for further <= w.last() && w.problem.Share(further) == w.problem.Share(n) {
		further += step
	}
	return further
}
