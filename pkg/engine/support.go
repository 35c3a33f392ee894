package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Support is devices, formats and models that an engine runs together. An empty list admits all.
type Support struct {
	// Vendors are in lower case.
	Vendors []string
	// Architectures of devices are as inventories report them.
	Architectures []string
	// Precisions are the formats that weights are stored in.
	Precisions []v1alpha1.Precision
	// Without are traits that a model must not have.
	Without []trait
	// Source names where the support is documented.
	Source string
}

// Device is the facts of a device that the table depends on.
type Device struct {
	// Vendor is in lower case, Product as the driver reports it, Architecture as in inventories; each is empty where it
	// is not known.
	Vendor, Product, Architecture string
	// Bytes is the memory that a process sees.
	Bytes int64
}

// Runs returns an error for a device, a format of weights or a model that the engine is not known to run; it says what to
// use instead. What is not known of the device, the format or the model is not refused.
func (e *Engine) Runs(on Device, weights v1alpha1.Precision, model *v1alpha1.Architecture) error {
	if len(e.Support) == 0 {
		return nil
	}
	var why string
	for i := range e.Support {
		if why = e.Support[i].refuses(on, weights, model); why == "" {
			return nil
		}
	}
	return fmt.Errorf("engine %s: %s", e.Name, why)
}

func (s *Support) refuses(on Device, weights v1alpha1.Precision, model *v1alpha1.Architecture) string {
	switch {
	case len(s.Vendors) > 0 && !slices.Contains(s.Vendors, on.Vendor):
		return fmt.Sprintf("it runs on devices of %s alone, and %q is of %s: use vLLM", strings.Join(s.Vendors, ", "), on.Product, on.Vendor)
	case len(s.Architectures) > 0 && on.Architecture != "" && !slices.Contains(s.Architectures, on.Architecture):
		return fmt.Sprintf("it runs on %s alone, and %q is %s: use other devices", strings.Join(s.Architectures, ", "), on.Product, on.Architecture)
	case len(s.Precisions) > 0 && weights != "" && !slices.Contains(s.Precisions, weights):
		return fmt.Sprintf("it runs weights in %v there, and not in %s: use one of them", s.Precisions, weights)
	case model == nil:
		return ""
	}
	for _, t := range s.Without {
		if t.has(model) {
			return fmt.Sprintf("it runs no models with %s there: use another engine", t.words)
		}
	}
	return ""
}

// trait is a property of models that decides which engines run them, in words that follow "models with".
type trait struct {
	words string
	has   func(*v1alpha1.Architecture) bool
}

var (
	withEncoder = trait{"an encoder", func(a *v1alpha1.Architecture) bool { return a.Encoder != nil }}
	withTied    = trait{"one table for embedding and head", func(a *v1alpha1.Architecture) bool { return a.TiedEmbeddings }}
)
