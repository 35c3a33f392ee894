package engine

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Use is what a model is run for.
type Use uint8

// The uses of a model.
const (
	Serving Use = iota
	Training
)

// UseOf returns what a workload is.
func UseOf(w *v1alpha1.Workload) Use {
	if w.Training != nil {
		return Training
	}
	return Serving
}

// Support is devices that an engine runs on, with the formats that it has kernels for there.
type Support struct {
	// Vendor is in lower case.
	Vendor string
	// Devices are architectures, or parts of names of products where these tell more; empty admits all of the vendor.
	Devices []string
	// Precisions are the formats that weights are stored in; empty admits all, of engines that leave kernels to the program.
	Precisions []v1alpha1.Precision
	// Makes are the formats that the engine turns weights in 16 bits into while it loads them there.
	Makes []v1alpha1.Precision
	// Cores is among how many cores of a device the engine shares out a tensor rank's part, adding heads and columns until they divide them (Padded);
	// 0 where it adds none.
	Cores int
	// Source is where this is documented, Looked the version that it was read for; empty where the source has none.
	Source, Looked string
}

// Lack is devices on which an engine has no kernels for models with a trait.
type Lack struct {
	// Vendor is in lower case; empty means every device. Devices are as in Support.
	Vendor  string
	Devices []string
	Of      trait
	// Source is where this is documented.
	Source string
}

// Device is the facts of a device that the table depends on.
type Device struct {
	// Vendor is in lower case, Product as the driver reports it, Architecture as in the catalogue or in inventories; each is empty
	// where it is not known.
	Vendor, Product, Architecture string
	// Bytes is the memory that a process sees.
	Bytes int64
}

// is says whether a device is one of a list; one of which neither architecture nor product is known may be.
func (d *Device) is(list []string) bool {
	named := func(word string) bool { return word == d.Architecture || strings.Contains(d.Product, word) }
	return len(list) == 0 || !d.known() || slices.ContainsFunc(list, named)
}

// known says whether enough is known of a device to tell which it is.
func (d *Device) known() bool { return d.Architecture != "" }

// Formats is a set of the formats that weights are stored in.
type Formats uint16

// stored are the formats that weights are stored in, in the order of the bits of Formats.
var stored = [...]v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.BF16, v1alpha1.FP16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4,
}

// every is the set of all formats.
const every = Formats(1<<len(stored) - 1)

func setOf(list []v1alpha1.Precision) Formats {
	if len(list) == 0 {
		return every
	}
	var set Formats
	for i, p := range stored {
		if slices.Contains(list, p) {
			set |= 1 << i
		}
	}
	return set
}

// Has says whether a set has a format; of an empty one, which is not known yet, whether it has any.
func (f Formats) Has(p v1alpha1.Precision) bool {
	at := slices.Index(stored[:], p)
	return at < 0 && f != 0 || at >= 0 && f&(1<<at) != 0
}

// list returns the formats of a set, the widest first.
func (f Formats) list() []v1alpha1.Precision {
	list := make([]v1alpha1.Precision, 0, bits.OnesCount16(uint16(f)))
	for i, p := range stored {
		if f&(1<<i) != 0 {
			list = append(list, p)
		}
	}
	return list
}

// Makes returns the formats that the engine turns weights in 16 bits into while it loads them on a device.
func (e *Engine) Makes(on *Device) Formats {
	var set Formats
	for i := range e.Support {
		if s := &e.Support[i]; len(s.Makes) > 0 && (on.Vendor == "" || s.Vendor == on.Vendor && on.is(s.Devices)) {
			set |= setOf(s.Makes)
		}
	}
	return set
}

// Formats returns the formats of weights that the engine runs on a device for a use; none where it does not run there. What is
// not known of the device is not refused.
func (e *Engine) Formats(on *Device, use Use) Formats {
	switch {
	case use == Training && (servesOnly(on) != nil || !e.madeFor(Training)):
		return 0
	case len(e.Support) == 0 || on.Vendor == "":
		return every
	}
	var set Formats
	for i := range e.Support {
		if s := &e.Support[i]; s.Vendor == on.Vendor && on.is(s.Devices) {
			set |= setOf(s.Precisions)
		}
	}
	return set
}

// Without returns the entry by which the engine does not serve a model on a device; nil where it does, and where the model or the device
// is not known.
func (e *Engine) Without(on *Device, use Use, of *v1alpha1.Architecture) *Lack {
	if of == nil || use != Serving || !on.known() {
		return nil
	}
	for i := range e.Lacks {
		if l := &e.Lacks[i]; l.Of.has(of) && (l.Vendor == "" || l.Vendor == on.Vendor && on.is(l.Devices)) {
			return l
		}
	}
	return nil
}

// Runs returns an error for a device, a format of weights or a model that the engine is not known to run for a use; it says what to use
// instead, and where that is documented. The model is nil where none is asked about.
func (e *Engine) Runs(on Device, use Use, weights v1alpha1.Precision, of *v1alpha1.Architecture) error {
	if e.Formats(&on, use).Has(weights) && e.Without(&on, use, of) == nil {
		return nil
	}
	return &Unsupported{Engine: e, Device: on, Use: use, Weights: weights, Model: of}
}
