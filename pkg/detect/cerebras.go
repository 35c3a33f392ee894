package detect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Cerebras lists the CS systems of the cluster that the host is a user node of. They are appliances on the network: no
// kernel shows them, so that csctl has to be asked, which the installation of a user node brings. It is only run where
// that installation is (/opt/cerebras/config_v2). Whether a system is a CS-2 or a CS-3 csctl does not say in a form that
// is published: product, memory and rates stay unknown. Every user node of a cluster shows the same systems.
//
// Sources: Cerebras's public documentation of csctl and of the user node's installation. Written from documentation only.
func Cerebras() Backend { return cerebrasBackend{} }

const cerebrasConfig = "/opt/cerebras/config_v2"

type cerebrasBackend struct{}

// Name implements Backend.
func (cerebrasBackend) Name() string { return "cerebras" }

// Detect implements Backend.
func (b cerebrasBackend) Detect(ctx context.Context, host *Host) (Found, error) {
	if !exists(host.Files, cerebrasConfig) {
		return Found{}, nil
	}
	systems, err := queryCSCTL(ctx, host)
	if cannotAsk(host, err) {
		var found Found
		found.degrade(err)
		return found, nil
	}
	if err != nil {
		return Found{}, err
	}
	failed, failedErr := queryCSCTL(ctx, host, "--error-only")
	found := Found{}
	found.degrade(failedErr)
	for _, name := range systems {
		found.Devices = append(found.Devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(b.Name() + "-" + name), Vendor: b.Name(), Family: v1alpha1.FamilyASIC, Backend: b.Name(),
			Product: "Cerebras CS system", Health: cerebrasHealth(name, failed, failedErr),
		})
	}
	return found, nil
}

// cannotAsk says whether the error is of a tool that is not there or may not run: that is a state of the host. Any other
// is a failure, after which nothing is known.
func cannotAsk(host *Host, err error) bool {
	return err != nil && (host.Commands == nil || errors.Is(err, ErrNoCommand))
}

// queryCSCTL returns the names of the cluster's systems, of which options choose some.
func queryCSCTL(ctx context.Context, host *Host, options ...string) ([]string, error) {
	argv := append([]string{"csctl", "get", "cluster", "--system-only", "--output", "json"}, options...)
	result, err := queryTool(ctx, host, "the CS systems of the cluster are not known without csctl", argv...)
	if err != nil {
		return nil, err
	}
	names, err := parseCSCTL(result.Stdout)
	if err != nil {
		return nil, commandError(argv, err)
	}
	return names, nil
}

// parseCSCTL reads a list of objects in the form of Kubernetes: `{"items":[{"meta":{"name":"systemf1"}}]}`.
func parseCSCTL(output []byte) ([]string, error) {
	var list struct {
		Items []struct {
			Meta struct {
				Name string `json:"name"`
			} `json:"meta"`
		} `json:"items"`
	}
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, fmt.Errorf("is no list of systems: %w", err)
	}
	var names []string
	for _, item := range list.Items[:min(len(list.Items), maxDevices)] {
		if item.Meta.Name != "" {
			names = append(names, item.Meta.Name)
		}
	}
	return names, nil
}

func cerebrasHealth(name string, failed []string, err error) v1alpha1.DeviceHealth {
	switch {
	case err != nil:
		return notMonitored("csctl did not say which systems have errors")
	case slices.Contains(failed, name):
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unhealthy, Reason: "SystemError", Message: "csctl lists the system with errors: see csctl get cluster --error-only",
		}
	default:
		return healthy("csctl lists no error of the system")
	}
}
