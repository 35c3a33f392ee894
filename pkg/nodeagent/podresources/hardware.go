package podresources

import (
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
)

// Hardware finds the devices of a node by what others call them.
type Hardware struct {
	devices   []v1alpha1.Device
	published Published
	found     map[Name][]v1alpha1.DeviceID
	// sliced are the devices by their names in this agent's ResourceSlices.
	sliced map[string]v1alpha1.DeviceID
}

// NewHardware returns a Hardware that finds these devices. published is what DRA drivers say of their devices; nil where it
// cannot be read.
func NewHardware(devices []v1alpha1.Device, published Published) *Hardware {
	h := &Hardware{devices: devices, published: published, found: map[Name][]v1alpha1.DeviceID{}, sliced: map[string]v1alpha1.DeviceID{}}
	for i := range devices {
		h.sliced[devicename.Of(devices[i].ID)] = devices[i].ID
	}
	return h
}

// Find returns the devices of a name. It is none where nothing tells, and several where the name stands for a whole
// device that the inventory lists in parts.
func (h *Hardware) Find(name Name) []v1alpha1.DeviceID {
	found, known := h.found[name]
	if !known {
		found = h.find(name)
		h.found[name] = found
	}
	return found
}

func (h *Hardware) find(name Name) []v1alpha1.DeviceID {
	if id, ours := h.own(name); ours {
		return []v1alpha1.DeviceID{id}
	}
	if ownDriver(name) {
		return nil
	}
	naming := namingOf(name.Server, name.Resource)
	if said, known := h.published[name]; known {
		if found := h.byAttributes(said, naming, name.Device); len(found) > 0 {
			return found
		}
	}
	if naming != nil {
		return naming.find(h.devices, name.Device)
	}
	// A server that nobody has heard of may nevertheless use names that can mean one device only.
	for _, f := range []form{byUUID, byPCI} {
		if found := f(h.devices, name.Device); len(found) > 0 {
			return found
		}
	}
	return nil
}

// byAttributes finds a device by what its driver says of it. A partition has the PCI address of the whole device, so the address
// is tried after UUID and name, and only where one device has it.
func (h *Hardware) byAttributes(said Attributes, n *naming, name string) []v1alpha1.DeviceID {
	if found := byUUID(h.devices, said.UUID); len(found) > 0 {
		return found
	}
	if n != nil {
		if found := n.find(h.devices, name); len(found) > 0 {
			return found
		}
	}
	if found := byPCI(h.devices, said.PCI); len(found) == 1 {
		return found
	}
	if n != nil && said.Index != "" && said.PCI == "" && said.UUID == "" {
		indexed := *n
		indexed.forms = []form{byIndex}
		return indexed.find(h.devices, said.Index)
	}
	return nil
}

// ownID is the form of a DeviceID.
var ownID = regexp.MustCompile(`^[a-z0-9]+-[a-zA-Z0-9.:_-]+$`)

// own returns the device that this agent means by a name of its plugin or its driver: one of the inventory, or under a
// plugin's resource of the product's own also one that the inventory lost.
func (h *Hardware) own(name Name) (v1alpha1.DeviceID, bool) {
	if ownDriver(name) {
		id, known := h.sliced[name.Device]
		return id, known
	}
	if name.Server != v1alpha1.ServedByDevicePlugin {
		return "", false
	}
	id := v1alpha1.DeviceID(ownShare.ReplaceAllString(name.Device, ""))
	for i := range h.devices {
		if h.devices[i].ID == id {
			return id, true
		}
	}
	return id, strings.HasPrefix(name.Resource, v1alpha1.Prefix) && len(id) <= 96 && ownID.MatchString(string(id))
}

// ownDriver says whether a name is of this agent's driver, whether or not the inventory has the device.
func ownDriver(name Name) bool {
	return name.Server == v1alpha1.ServedByDRA && name.Resource == v1alpha1.DRADriver
}

// expected says whether a name must mean an accelerator, by the resource that it belongs to.
func expected(name Name) bool {
	return !monitoring(name.Resource) && (strings.HasPrefix(name.Resource, v1alpha1.Prefix) || ownDriver(name) ||
		namingOf(name.Server, name.Resource) != nil)
}
