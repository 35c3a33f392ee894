package podresources

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// Published is what DRA drivers say of their devices in ResourceSlices.
type Published map[Name]Attributes

// Attributes tell a device from others. What a driver does not say is empty.
type Attributes struct {
	// UUID is also the serial number of a Gaudi.
	UUID string
	// PCI is the address of the device, or of what it is a part of.
	PCI string
	// Index is the number that the vendor's driver gives it, in decimal.
	Index string
	// Selectors are the attributes by which a ResourceClaim can select the device, the surest first: UUID, PCI address, index.
	Selectors []v1alpha1.ClaimAttribute
}

// identity is a way to tell a device from others, the surest first: what belongs to it, where it is, what it is called.
type identity int

const (
	identityUUID identity = iota
	identityPCI
	identityIndex
	identities
)

// identifying are the attributes by the part of their name after the domain: uuid, pciAddr and pciAddress of the vendors'
// drivers, index of dra-driver-google-tpu, serial of Gaudi's, and the standard resource.kubernetes.io/pciBusID.
var identifying = map[string]identity{
	"uuid":       identityUUID,
	"serial":     identityUUID,
	"pciBusID":   identityPCI,
	"pciAddr":    identityPCI,
	"pciAddress": identityPCI,
	"index":      identityIndex,
}

// Add adds the devices of a ResourceSlice.
func (p Published) Add(slice *resourceapi.Slice) {
	driver := slice.Spec.Driver
	for _, d := range slice.Spec.Devices {
		p[Name{v1alpha1.ServedByDRA, driver, slice.Spec.Pool.Name, d.Name}] = attributesOf(driver, d.Attributes)
	}
}

// attributesOf reads what identifies a device. An attribute whose name has no domain is in the driver's domain
// (resource.k8s.io/v1, QualifiedName).
func attributesOf(driver string, attributes map[string]resourceapi.Attribute) Attributes {
	var texts [identities]string
	var selectors [identities][]v1alpha1.ClaimAttribute
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value, name := attributes[key], key
		identity, identifies := identifying[key[strings.LastIndex(key, "/")+1:]]
		if !identifies {
			continue
		}
		texts[identity] = textOf(value)
		if !strings.Contains(key, "/") {
			name = driver + "/" + key
		}
		if selector, usable := selectorOf(value, name); usable {
			selectors[identity] = append(selectors[identity], selector)
		}
	}
	return Attributes{
		UUID: texts[identityUUID], PCI: texts[identityPCI], Index: texts[identityIndex], Selectors: slices.Concat(selectors[:]...),
	}
}

// selectable is what the inventory takes as the name of an attribute.
var selectable = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[a-zA-Z_][a-zA-Z0-9_]*$`)

// selectorOf returns an attribute as the inventory has it; usable is false for what the inventory does not take.
func selectorOf(a resourceapi.Attribute, name string) (selector v1alpha1.ClaimAttribute, usable bool) {
	text := textOf(a)
	usable = len(name) <= 96 && selectable.MatchString(name) && (a.String != nil) != (a.Int != nil) && text != "" && len(text) <= resourceapi.MaxText
	return v1alpha1.ClaimAttribute{Name: name, String: a.String, Int: a.Int}, usable
}

func textOf(a resourceapi.Attribute) string {
	switch {
	case a.String != nil:
		return *a.String
	case a.Int != nil:
		return strconv.FormatInt(*a.Int, 10)
	default:
		return ""
	}
}
