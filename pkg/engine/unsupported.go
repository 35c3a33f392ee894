package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Unsupported is why an engine does not run a format of weights or a model on a device, or does not run there at all.
type Unsupported struct {
	Engine  *Engine
	Device  Device
	Use     Use
	Weights v1alpha1.Precision     // empty where none was asked for
	Model   *v1alpha1.Architecture // nil where none was asked about
}

// Error names the engine, the device, what to use instead, and where that is documented.
func (u *Unsupported) Error() string { return fmt.Sprintf("engine %s: %s", u.Engine.Name, u.Why()) }

// Why is Error without the name of the engine.
func (u *Unsupported) Why() string {
	device := u.Device.words()
	if only := servesOnly(&u.Device); u.Use == Training && only != nil {
		return fmt.Sprintf("%s serves models and trains none (%s): use devices that train", device, only.Source)
	}
	if u.Use == Training && !u.Engine.madeFor(Training) {
		return "it serves models and trains none: use " + alternatives(Others(Device{}, Training, "", nil))
	}
	runs := u.Engine.Formats(&u.Device, u.Use)
	if runs == 0 {
		return fmt.Sprintf("it does not run on %s (%s): %s", device, u.Engine.Documented, u.instead())
	}
	if lack := u.Engine.Without(&u.Device, u.Use, u.Model); lack != nil {
		return fmt.Sprintf("it runs no models with %s on %s (%s): %s", lack.Of.words, device, lack.Source, u.instead())
	}
	return fmt.Sprintf("it runs no weights in %s on %s (%s): use %s", u.Weights, device, u.source(), alternatives(runs.list()))
}

// source is where the formats that run on the device are documented.
func (u *Unsupported) source() string {
	for i := range u.Engine.Support {
		if s := &u.Engine.Support[i]; s.Vendor == u.Device.Vendor && u.Device.is(s.Devices) {
			return s.Source
		}
	}
	return u.Engine.Documented
}

// instead names the engines of the table that run on the device, or else the devices that the engine runs on.
func (u *Unsupported) instead() string {
	if names := Others(u.Device, u.Use, u.Weights, u.Model); len(names) > 0 {
		return "use " + alternatives(names)
	}
	return "use other devices"
}

// Others returns the names of the engines that are known to run a format of weights and a model, if one is given, on a device, in the
// table's order.
func Others(on Device, use Use, weights v1alpha1.Precision, of *v1alpha1.Architecture) []v1alpha1.Engine {
	var names []v1alpha1.Engine
	for _, e := range table {
		if len(e.Support) > 0 && e.madeFor(use) && e.Formats(&on, use).Has(weights) && e.Without(&on, use, of) == nil {
			names = append(names, e.Name)
		}
	}
	return names
}

// madeFor says whether people run the engine for a use.
func (e *Engine) madeFor(use Use) bool { return len(e.Uses) == 0 || slices.Contains(e.Uses, use) }

// words name a device for people.
func (d *Device) words() string {
	switch {
	case d.Product == "":
		return "devices of " + d.Vendor
	case d.Vendor == "":
		return d.Product
	}
	return fmt.Sprintf("%s of %s", d.Product, d.Vendor)
}

// alternatives joins words with commas and a last "or".
func alternatives[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
