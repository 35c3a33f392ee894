// Package graphcore finds Graphcore's IPUs.
package graphcore

import (
	"context"
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// IPU finds every IPU that is a PCI function (cards C2 and C200, with two IPUs each) by its PCI id, and its nodes
// below the function in sysfs. It runs no command for them: memory is the IPU's own SRAM, which is nominal.
//
// The IPUs of an IPU-M2000 or Bow-2000 are reached over the network and no device of the host: the kernel shows none.
// Where the host has the configuration of a partition of them (/etc/ipuof.conf.d), gc-info lists them, each with its
// machine's address and number; several hosts may show the same IPU.
//
// Sources: public notes on cards for the ids (0001 is a C2, 0003 a C200); the output of gc-info in the
// guides of Argonne's AI testbed. Written from documentation only.
func IPU() backend.Backend { return backend.New("graphcore", detect) }

const (
	graphcoreVendorID = "1d95"
	graphcoreConfig   = "/etc/ipuof.conf.d"
)

var graphcoreKind = backend.Kind{Backend: "graphcore", Vendor: "graphcore", Family: v1alpha1.FamilyASIC}

// graphcoreProducts are the IPUs by PCI device id.
var graphcoreProducts = map[string]string{"0001": "GC2 IPU", "0003": "GC200 IPU"}

func detect(ctx context.Context, h *host.Host) (backend.Found, error) {
	ipus, err := pci.Matching(h, backend.ByVendor(graphcoreVendorID))
	found := backend.Found{}
	found.Degrade(err)
	for _, function := range ipus {
		device, err := graphcoreKind.DeviceWithOwnNodes(h.Files, function, graphcoreProducts[function.DeviceID], "load Graphcore's ipu_driver")
		found.Devices = append(found.Devices, device)
		found.Degrade(err)
	}
	networked, networkErr := networkedIPUs(ctx, h)
	if len(found.Devices) == 0 && networkErr != nil && !host.CannotAsk(h, networkErr) {
		return backend.Found{}, networkErr
	}
	found.Devices = append(found.Devices, networked...)
	if len(found.Devices) == 0 && networkErr == nil {
		return backend.Found{}, err
	}
	found.Degrade(networkErr)
	return found, nil
}

// networkedIPUs lists the IPUs of the partition that the host is configured for; none where it is for none.
func networkedIPUs(ctx context.Context, h *host.Host) ([]v1alpha1.Device, error) {
	names, err := host.ReadNames(h.Files, graphcoreConfig)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	result, err := host.Query(ctx, h, "the IPUs of the partition in "+graphcoreConfig+" are not known without gc-info in /usr/local/bin", host.GCInfo...)
	if err != nil {
		return nil, err
	}
	var devices []v1alpha1.Device
	for _, ipu := range parseGCInfo(string(result.Stdout)) {
		devices = append(devices, v1alpha1.Device{
			ID:     graphcoreKind.ID(ipu.host + "-" + ipu.number),
			Vendor: graphcoreKind.Vendor, Family: graphcoreKind.Family, Backend: graphcoreKind.Backend,
			Product: "Graphcore IPU",
			Health:  backend.NotMonitored("the IPU is part of the machine at " + ipu.host + ": its health is known there"),
		})
	}
	return devices, nil
}

// fabricIPU is an IPU that is reached over the network: the address of its machine and its number there.
type fabricIPU struct{ host, number string }

// fabricLine matches `-+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3]`. Lines of devices that join
// several IPUs have no such part.
var fabricLine = regexp.MustCompile(`^-\+- Id:.*\[Fabric\], IPU-M host: \[([0-9A-Za-z.:_-]{1,64})\], IPU#: \[(\d{1,4})\]`)

// parseGCInfo reads the list of `gc-info -l`, each IPU once.
func parseGCInfo(output string) []fabricIPU {
	var ipus []fabricIPU
	seen := map[fabricIPU]bool{}
	for line := range strings.Lines(output) {
		match := fabricLine.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		ipu := fabricIPU{host: match[1], number: match[2]}
		if !seen[ipu] && len(ipus) < backend.MaxDevices {
			seen[ipu] = true
			ipus = append(ipus, ipu)
		}
	}
	return ipus
}
