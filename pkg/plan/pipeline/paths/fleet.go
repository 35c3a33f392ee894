package paths

import (
	"errors"
	"fmt"
	"math"
)

// Fleet is the devices that one model is to be laid out on.
type Fleet struct {
	// Layers is how many layers the model has; all are taken to be alike.
	Layers int
	// Devices are the devices, or tensor groups that act as one.
	Devices []Device
	// Links bound what flows between devices; nil means no bounds.
	Links *Links
}

// Device is one device, or a tensor group that acts as one.
type Device struct {
	// Rates are the tokens a second at which the device runs a span of one layer, of two and so on. Its length is the
	// most layers that the device holds; zero says that it cannot run a span of that length. The rates need not fall
	// with the length: measured ones do not always.
	Rates []float64
}

// Links are the tokens a second that the connections of a fleet carry; +Inf means no bound.
type Links struct {
	// Between holds, by sender and receiver, what activations allow.
	Between [][]float64
	// In and Out are what each device's connections from and to the clients carry.
	In, Out []float64
}

// Span is the layers [Start, End) that a device holds; a device that is left out has an empty one.
type Span struct {
	Start, End int
}

// Empty says whether the device is left out.
func (s Span) Empty() bool { return s.End <= s.Start }

const (
	maxLayers  = 1 << 12
	maxDevices = 1 << 10
)

// ErrInvalid is wrapped by each error that says which value of the input cannot be right.
var ErrInvalid = errors.New("invalid fleet")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func (f *Fleet) validate() error {
	if f.Layers < 1 || f.Layers > maxLayers {
		return invalid("layers is %d: give between 1 and %d", f.Layers, maxLayers)
	}
	if len(f.Devices) == 0 || len(f.Devices) > maxDevices {
		return invalid("there are %d devices: give between 1 and %d", len(f.Devices), maxDevices)
	}
	for i, d := range f.Devices {
		for k, rate := range d.Rates {
			if !(rate >= 0) || rate > maxRate {
				return invalid("devices[%d].rates[%d] is %v: give tokens a second between 0 and %v", i, k, rate, maxRate)
			}
		}
	}
	return f.Links.validate(len(f.Devices))
}

// maxRate keeps sums of rates times layers far from overflow.
const maxRate = 1e15

func (l *Links) validate(devices int) error {
	if l == nil {
		return nil
	}
	if len(l.Between) != devices || len(l.In) != devices || len(l.Out) != devices {
		return invalid("links are given for %d, %d and %d devices (between, in, out): give all %d",
			len(l.Between), len(l.In), len(l.Out), devices)
	}
	for i, row := range l.Between {
		if len(row) != devices {
			return invalid("links.between[%d] has %d entries: give one for each of %d devices", i, len(row), devices)
		}
		if err := validRates(fmt.Sprintf("links.between[%d]", i), row); err != nil {
			return err
		}
	}
	if err := validRates("links.in", l.In); err != nil {
		return err
	}
	return validRates("links.out", l.Out)
}

func validRates(name string, rates []float64) error {
	for i, rate := range rates {
		if !(rate >= 0) {
			return invalid("%s[%d] is %v: give tokens a second, zero for no link, +Inf for no bound", name, i, rate)
		}
	}
	return nil
}

// least returns the smallest capacity of any link.
func (l *Links) least() float64 {
	least := math.Inf(1)
	if l == nil {
		return least
	}
	for i, row := range l.Between {
		least = min(least, l.In[i], l.Out[i])
		for j, rate := range row {
			if i != j {
				least = min(least, rate)
			}
		}
	}
	return least
}
