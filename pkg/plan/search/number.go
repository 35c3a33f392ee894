package search

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Number returns the number of copies with which a problem that leaves it open takes least: in the widest format in which any
// number fits, and in equal copies where these fit in any number, the fewest devices, or the cheapest for the objective Cost;
// then the best value of the objective, then the fewest copies. Where none fits, it is the number that comes nearest to it.
func Number(t *shape.Problem) int {
	var last *numbers
	for _, settings := range formatsOf(slices.Collect(t.Settings())) {
		last = newNumbers(t, settings)
		if n := last.best(); n > 0 {
			return n
		}
	}
	return last.nearest()
}

// numbers are the numbers of copies that a problem leaves open, in some settings. All of them are multiples of the problem's own.
type numbers struct {
	problem  *shape.Problem
	settings []shape.Setting
	// free are the devices that match, and memory the bytes that may be used on all of them together.
	free   int
	memory int64
	// known are by the sequences of a copy, which is all that a number decides for one.
	known map[int]takes
}

// takes is a lower bound of what a copy takes, and by flavor of the devices that it takes on one. It is no devices where no copy can run.
type takes struct {
	size
	bytes int64
	on    map[*shape.Flavor]int
}

// size is a number of devices, and what they cost.
type size struct {
	devices int
	cost    int64
}

// Numbers of copies up to these are all looked at. Above, the next one is larger by the part that one is of them, but for those from
// which on a copy takes fewer devices. Whether copies that differ fit takes longer to find out.
const (
	everyEqual     = 32
	everyDifferent = 8
)

func newNumbers(t *shape.Problem, settings []shape.Setting) *numbers {
	f := &numbers{problem: t, settings: settings, known: map[int]takes{}}
	for _, s := range settings {
		seen := t.Match(s.Format, t.Require.Level).Census
		f.free, f.memory = max(f.free, seen.Matched), max(f.memory, seen.Free)
	}
	return f
}

// formatsOf divides settings into those of each format, in order.
func formatsOf(settings []shape.Setting) [][]shape.Setting {
	var formats [][]shape.Setting
	for i, s := range settings {
		if i == 0 || s.Format != settings[i-1].Format {
			formats = append(formats, nil)
		}
		formats[len(formats)-1] = append(formats[len(formats)-1], s)
	}
	return formats
}

// best returns the best number; 0 where none fits.
func (f *numbers) best() int {
	for _, equal := range []bool{true, false} {
		if n := f.bestOf(equal); n > 0 {
			return n
		}
	}
	return 0
}

// bestOf returns the best of the numbers in which copies may be equal, or of the others; 0 where none fits.
func (f *numbers) bestOf(equal bool) int {
	best, cost, value := 0, int64(0), 0.0
	dearer := func(n int) bool { return best > 0 && int64(n)*f.takes(n).cost > cost }
	for n, p := range f.tried(equal, f.free, dearer) {
		found := first(p, slices.Values(f.settings), &Rejections{})
		if found == nil {
			continue
		}
		took := int64(0)
		for _, at := range found.Devices() {
			took += f.rate(p.Cluster.Device(at).Class)
		}
		if worth := found.Portions[0].Value; best == 0 || cmp.Or(cmp.Compare(took, cost), cmp.Compare(worth, value)) < 0 {
			best, cost, value = n, took, worth
		}
	}
	return best
}

// mostDiffering is how many devices copies that differ may take where it is only asked whether a problem fits.
const mostDiffering = 256

// fitsInAny says whether a problem fits in any number of copies, of which those that differ take few devices.
func fitsInAny(t *shape.Problem) bool {
	f := newNumbers(t, t.Decisive())
	for range f.tried(true, f.free, never) {
		return true
	}
	for _, p := range f.tried(false, min(f.free, mostDiffering), never) {
		if newTrial(p).holding(unequal(p)) >= 0 {
			return true
		}
	}
	return false
}

func never(int) bool { return false }

// InNumbers returns the problem in each number of copies that may do; where the number is not open, the problem.
func InNumbers(t *shape.Problem) iter.Seq[*shape.Problem] {
	return func(yield func(*shape.Problem) bool) {
		if !t.Open {
			yield(t)
			return
		}
		f := newNumbers(t, t.Decisive())
		for _, equal := range []bool{true, false} {
			for _, p := range f.tried(equal, f.free, never) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// nearest returns the number whose copies take the fewest devices together at least, be there as many or not; the largest where no copy
// can run.
func (f *numbers) nearest() int {
	most := f.problem.Spread().Copies
	near, devices := most, 0
	for n := f.problem.Copies; n <= most && !f.problem.Stopped(); {
		if d := n * f.takes(n).devices; d > 0 && (devices == 0 || d < devices) {
			near, devices = n, d
		}
		within := devices - 1
		if devices == 0 {
			within = math.MaxInt
		}
		if n = f.first(n+f.problem.Copies, most, within); n == 0 {
			break
		}
	}
	return near
}

// tried are the numbers that are worth a search, rising, each with its problem: those whose copies may take no more than some devices, and
// no more memory than there is, which may be equal or not, and that leave a copy fewer sequences than a smaller number does. With a
// number that is left out go those with which a copy takes no less.
func (f *numbers) tried(equal bool, within int, leaveOut func(n int) bool) iter.Seq2[int, *shape.Problem] {
	w := walk{f, within, everyDifferent}
	if equal {
		w = walk{f, equally, everyEqual}
	}
	return func(yield func(int, *shape.Problem) bool) {
		for n := w.from(f.problem.Copies); n > 0; n = w.from(n) {
			if leaveOut(n) {
				n = f.next(n, f.last())
				continue
			}
			if int64(n)*f.takes(n).bytes <= f.memory {
				if p := f.problem.With(f.problem.InCopies(n)); (f.may(n, n, equally) && f.equal(p)) == equal && !yield(n, p) {
					return
				}
			}
			n = w.after(n)
		}
	}
}

// equal says whether the copies of a problem fit in one shape on devices of one kind.
func (f *numbers) equal(p *shape.Problem) bool {
	fits := false
	f.each(p, false, func(c *shape.Candidate) bool {
		fits = fits || HasRoom(c) && c.Keeps()
		return fits
	})
	return fits
}

// each offers the shapes of a problem in the settings that need least memory: those of each choice of degrees by their number of stages, until
// one is enough; the first ones alone where a sketch does.
func (f *numbers) each(p *shape.Problem, sketch bool, enough func(*shape.Candidate) bool) {
	for _, s := range f.settings {
		if !s.Lean && !p.Limited() {
			continue // lean batches need no more
		}
		a := p.Tier(s)
		if sketch {
			a = a.Sketch()
		}
		for _, pool := range a.Levels[len(a.Levels)-1] {
			for _, l := range p.FlavorsOf(pool) {
				for _, d := range a.Degrees(l) {
					for c := range a.Shapes(l, d, nil) {
						if enough(&c) {
							break
						}
					}
				}
			}
		}
	}
}

// last is the largest number that is worth trying: there are no more copies than devices or sequences.
func (f *numbers) last() int { return min(shape.MaxCopies, f.free, f.problem.Sequences()) }

// next returns the first number above one, up to a last one, with which a copy takes another number of devices at least; one above the last
// where there is none.
func (f *numbers) next(n, last int) int {
	step := f.problem.Copies
	if end := n + (last-n)/step*step; f.takes(end).size == f.takes(n).size {
		return end + step // as on the way there, since a copy takes no more where it has less to hold
	}
	return n + step*(1+sort.Search((last-n)/step, func(i int) bool { return f.takes(n+step*(1+i)).size != f.takes(n).size }))
}

// takes returns the least that one of so many copies takes. It falls as they become more, since the load of each does.
func (f *numbers) takes(n int) takes {
	share := f.problem.Share(n)
	found, known := f.known[share]
	if known {
		return found
	}
	one := f.problem.With(f.problem.InCopies(n)).Alone()
	found.on = map[*shape.Flavor]int{}
	f.each(one, !one.Limited(), func(c *shape.Candidate) bool {
		found.bytes = least(found.bytes, int64(c.Data)*c.Footprint.Together(c.Shape))
		if on := found.on[c.Flavor]; on > 0 && c.Total() >= on {
			return true // with more stages it takes no less
		}
		if !c.Keeps() {
			return false
		}
		found.on[c.Flavor] = c.Total()
		found.devices, found.cost = least(found.devices, c.Total()), least(found.cost, int64(c.Total())*f.rate(c.Flavor.Class))
		return true
	})
	if found.devices == 0 {
		for _, s := range f.settings {
			a := one.Tier(s).Sketch()
			for _, c := range a.Mixed(a.Levels[len(a.Levels)-1]) {
				found.devices, found.bytes = least(found.devices, c.Total()), least(found.bytes, int64(c.Data)*c.Footprint.Together(c.Shape))
			}
		}
	}
	f.known[share] = found
	return found
}

// least returns the lower of two amounts, of which the first is 0 where there is none yet.
func least[T int | int64](known, other T) T {
	if known == 0 {
		return other
	}
	return min(known, other)
}

// unpricedHour is what an hour of a device without a price counts as, in micro-USD: above all prices.
const unpricedHour = 1 << 32

// rate is what a device of a class counts as: its price an hour in micro-USD for the objective Cost, else 1. Of several classes (-1)
// the price is at least 0.
func (f *numbers) rate(class int32) int64 {
	if f.problem.Objective() != v1alpha1.ObjectiveCost {
		return 1
	}
	if class < 0 {
		return 0
	}
	if hour, ok := f.problem.Price(class); ok {
		return hour.MicroUSDPerHour
	}
	return unpricedHour
}
