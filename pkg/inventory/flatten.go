package inventory

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// The things of an inventory, in the order in which changes are told.
const (
	whatDevice     = "Device"
	whatLink       = "Link"
	whatNIC        = "NIC"
	whatDisk       = "Disk"
	whatBackend    = "Backend"
	whatHost       = "Host"
	whatAllocation = "Allocation"
)

var whats = []string{whatDevice, whatLink, whatNIC, whatDisk, whatBackend, whatHost, whatAllocation}

// flat is a thing's fields by their paths in the API, each with its value as a text.
type flat map[string]string

// thing is one part of an inventory: what it is, and its name among those.
type thing struct{ what, name string }

// things returns all things of an inventory, each with its fields.
func things(s *v1alpha1.AcceleratorInventoryStatus) map[thing]flat {
	found := map[thing]flat{{whatHost, "host"}: flatten(&s.Host)}
	add := func(what, name string, value any) { found[thing{what, name}] = flatten(value) }
	for i := range s.Devices {
		add(whatDevice, string(s.Devices[i].ID), &s.Devices[i])
	}
	for i := range s.Links.Domains {
		add(whatLink, s.Links.Domains[i].Name, &s.Links.Domains[i])
	}
	for _, p := range s.Links.Pairs {
		add(whatLink, fmt.Sprintf("%s %s - %s", p.Kind, p.A, p.B), &p)
	}
	for i := range s.NICs {
		add(whatNIC, s.NICs[i].Name, &s.NICs[i])
	}
	for i := range s.Storage {
		add(whatDisk, s.Storage[i].Name, &s.Storage[i])
	}
	for _, b := range s.Backends {
		add(whatBackend, b.Name, &b)
	}
	for _, a := range s.Allocations {
		add(whatAllocation, fmt.Sprintf("%s: %s/%s", a.Device, a.Namespace, a.Pod), &a)
	}
	return found
}

// timesOfChange are fields that say when another one changed.
var timesOfChange = []string{"health.since"}

// flatten converts a pointer to a thing of the API as its JSON would be, so that no field is forgotten. A list is one value.
func flatten(thing any) flat {
	fields := flat{}
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(thing)
	if err != nil {
		return fields // the API's types have no value that JSON cannot write
	}
	fields.put("", value)
	for _, path := range timesOfChange {
		delete(fields, path)
	}
	return fields
}

func (f flat) put(path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			f.put(strings.TrimPrefix(path+"."+name, "."), inner)
		}
	case []any:
		f[path] = listText(value)
	default:
		f[path] = fmt.Sprint(value)
	}
}

// listText writes a list in one line: its values where they are plain, else its JSON.
func listText(list []any) string {
	parts := make([]string, len(list))
	for i, value := range list {
		switch value.(type) {
		case map[string]any, []any:
			text, err := json.Marshal(list)
			if err != nil {
				return ""
			}
			return string(text)
		}
		parts[i] = fmt.Sprint(value)
	}
	return strings.Join(parts, " ")
}
