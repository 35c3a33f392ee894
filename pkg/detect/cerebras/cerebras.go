// Package cerebras finds the CS systems of a cluster.
package cerebras

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// CS lists the CS systems of the cluster that the host is a user node of. They are appliances on the network: no
// kernel shows them, so that csctl has to be asked, which the installation of a user node brings. It is only run where
// that installation is (/opt/cerebras/config_v2). Whether a system is a CS-2 or a CS-3 csctl does not say in a form that
// is published: where a field of its list is the name of the product or of its wafer, product, memory (the wafer's, nominal)
// and rates are those of the catalogue, else they stay unknown. Every user node of a cluster shows the same systems.
//
// Sources: Cerebras's public documentation of csctl and of the user node's installation. Written from documentation only.
func CS() backend.Backend { return backend.New(cerebrasName, detect) }

const (
	cerebrasName   = "cerebras"
	cerebrasConfig = "/opt/cerebras/config_v2"
)

func detect(ctx context.Context, h *host.Host) (backend.Found, error) {
	if !host.Exists(h.Files, cerebrasConfig) {
		return backend.Found{}, nil
	}
	systems, err := queryCSCTL(ctx, h)
	found := backend.Found{}
	if host.CannotAsk(h, err) {
		found.Degrade(err)
		return found, nil
	}
	if err != nil {
		return backend.Found{}, err
	}
	failed, failedErr := queryCSCTL(ctx, h, "--error-only")
	found.Degrade(failedErr)
	for _, system := range systems {
		device := v1alpha1.Device{
			ID: v1alpha1.DeviceID(cerebrasName + "-" + system.name), Vendor: cerebrasName, Family: v1alpha1.FamilyASIC, Backend: cerebrasName,
			Product: "Cerebras CS system", Health: cerebrasHealth(system.name, failed, failedErr),
		}
		if product, known := accelerator.Lookup(accelerator.Key{Product: system.product}); known && product.Vendor == cerebrasName {
			device.Product = product.Name
			backend.Describe(&device, product)
		}
		found.Devices = append(found.Devices, device)
	}
	return found, nil
}

// cerebrasSystem is a system of the list, with its product as the catalogue calls it; empty where the list does not say.
type cerebrasSystem struct{ name, product string }

// queryCSCTL returns the cluster's systems, of which options choose some.
func queryCSCTL(ctx context.Context, h *host.Host, options ...string) ([]cerebrasSystem, error) {
	argv := append([]string{"csctl", "get", "cluster", "--system-only", "--output", "json"}, options...)
	return host.Ask(ctx, h, "the CS systems of the cluster are not known without csctl", parseCSCTL, argv...)
}

// parseCSCTL reads a list of objects in the form of Kubernetes: `{"items":[{"meta":{"name":"systemf1"}}]}`. A system that is
// not of that form costs the others nothing.
func parseCSCTL(output []byte) ([]cerebrasSystem, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, fmt.Errorf("is no list of systems: %w", err)
	}
	var systems []cerebrasSystem
	for _, entry := range list.Items[:min(len(list.Items), backend.MaxDevices)] {
		var item struct {
			Meta struct {
				Name string `json:"name"`
			} `json:"meta"`
		}
		if json.Unmarshal(entry, &item) == nil && item.Meta.Name != "" {
			systems = append(systems, cerebrasSystem{item.Meta.Name, cerebrasProduct(entry)})
		}
	}
	return systems, nil
}

// cerebrasModel matches a field that is the name of a product or of its wafer and nothing else: CS-3, cs3, WSE-3.
var cerebrasModel = regexp.MustCompile(`: *"(?i:CS|WSE)-?([23])"`)

func cerebrasProduct(entry []byte) string {
	if match := cerebrasModel.FindSubmatch(entry); match != nil {
		return "CS-" + string(match[1])
	}
	return ""
}

func cerebrasHealth(name string, failed []cerebrasSystem, err error) v1alpha1.DeviceHealth {
	switch {
	case err != nil:
		return backend.NotMonitored("csctl did not say which systems have errors")
	case slices.ContainsFunc(failed, func(s cerebrasSystem) bool { return s.name == name }):
		return backend.Unhealthy("SystemError", "csctl lists the system with errors: see csctl get cluster --error-only")
	default:
		return backend.Healthy("csctl lists no error of the system")
	}
}
