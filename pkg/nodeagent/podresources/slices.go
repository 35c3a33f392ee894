package podresources

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Published is what DRA drivers say of their devices in ResourceSlices.
type Published map[Name]Attributes

// Attributes are those that tell a device from others; what a driver does not say is empty.
type Attributes struct {
	// UUID is also the serial number of a Gaudi.
	UUID string
	// PCI is the address of the device, or of what it is a part of.
	PCI string
	// Index is the number that the vendor's driver gives it, in decimal.
	Index string
}

// identifying are the attributes by the part of their name after the domain: uuid, pciAddr and pciAddress of the vendors'
// drivers, index of dra-driver-google-tpu, serial of Gaudi's, and the standard resource.kubernetes.io/pciBusID.
var identifying = map[string]func(*Attributes) *string{
	"uuid":       func(a *Attributes) *string { return &a.UUID },
	"serial":     func(a *Attributes) *string { return &a.UUID },
	"pciBusID":   func(a *Attributes) *string { return &a.PCI },
	"pciAddr":    func(a *Attributes) *string { return &a.PCI },
	"pciAddress": func(a *Attributes) *string { return &a.PCI },
	"index":      func(a *Attributes) *string { return &a.Index },
}

// slice is what is read of a ResourceSlice (resource.k8s.io/v1).
type slice struct {
	Spec struct {
		Driver string `json:"driver"`
		Pool   struct {
			Name string `json:"name"`
		} `json:"pool"`
		Devices []struct {
			Name       string               `json:"name"`
			Attributes map[string]attribute `json:"attributes"`
		} `json:"devices"`
	} `json:"spec"`
}

type attribute struct {
	String *string `json:"string"`
	Int    *int64  `json:"int"`
}

// Add adds the devices of a ResourceSlice, written in JSON.
func (p Published) Add(content []byte) error {
	var s slice
	if err := json.Unmarshal(content, &s); err != nil {
		return fmt.Errorf("read a ResourceSlice: %w", err)
	}
	for _, d := range s.Spec.Devices {
		var a Attributes
		for key, value := range d.Attributes {
			if set := identifying[key[strings.LastIndex(key, "/")+1:]]; set != nil {
				*set(&a) = value.text()
			}
		}
		p[Name{v1alpha1.ServedByDRA, s.Spec.Driver, s.Spec.Pool.Name, d.Name}] = a
	}
	return nil
}

func (a attribute) text() string {
	switch {
	case a.String != nil:
		return *a.String
	case a.Int != nil:
		return strconv.FormatInt(*a.Int, 10)
	default:
		return ""
	}
}
