package detect

import (
	"context"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Graphcore finds every IPU that is a PCI function (cards C2 and C200, with two IPUs each) by its PCI id, and its nodes
// below the function in sysfs. It runs no command for them: memory is the IPU's own SRAM, which is nominal.
//
// The IPUs of an IPU-M2000 or Bow-2000 are reached over the network and no device of the host: the kernel shows none.
// Where the host has the configuration of a partition of them (/etc/ipuof.conf.d), gc-info lists them, each with its
// machine's address and number; several hosts may show the same IPU.
//
// Sources: public notes on cards for the ids (0001 is a C2, 0003 a C200); the output of gc-info in the
// guides of Argonne's AI testbed. Written from documentation only.
func Graphcore() Backend { return newBackend("graphcore", detectGraphcore) }

const (
	graphcoreVendorID = "1d95"
	graphcoreConfig   = "/etc/ipuof.conf.d"
)

var graphcoreKind = deviceKind{backend: "graphcore", vendor: "graphcore", family: v1alpha1.FamilyASIC}

// graphcoreProducts are the IPUs by PCI device id.
var graphcoreProducts = map[string]string{"0001": "GC2 IPU", "0003": "GC200 IPU"}

func detectGraphcore(ctx context.Context, h *host.Host) (Found, error) {
	functions, err := pciFunctions(h)
	found := Found{}
	problems := []error{err}
	for _, function := range functions {
		if function.VendorID != graphcoreVendorID || isVirtualFunction(h.Files, function) {
			continue
		}
		device, err := graphcoreDevice(h.Files, function)
		found.Devices = append(found.Devices, device)
		problems = append(problems, err)
	}
	networked, networkErr := networkedIPUs(ctx, h)
	if len(found.Devices) == 0 && networkErr != nil && !host.CannotAsk(h, networkErr) {
		return Found{}, networkErr
	}
	found.Devices = append(found.Devices, networked...)
	if len(found.Devices) == 0 && networkErr == nil {
		return Found{}, err
	}
	found.degrade(append(problems, networkErr)...)
	return found, nil
}

func graphcoreDevice(files host.Files, function pciFunction) (v1alpha1.Device, error) {
	device, _, _ := graphcoreKind.device(files, function, graphcoreProducts[function.DeviceID])
	nodes, err := ownNodes(files, function.Path)
	device.Paths = nodes
	device.Health = driverHealth(function.Driver, nodes, "load Graphcore's ipu_driver")
	return device, err
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
			ID:     v1alpha1.DeviceID(strings.Join([]string{graphcoreKind.vendor, ipu.host, ipu.number}, "-")),
			Vendor: graphcoreKind.vendor, Family: graphcoreKind.family, Backend: graphcoreKind.backend,
			Product: "Graphcore IPU",
			Health:  notMonitored("the IPU is part of the machine at " + ipu.host + ": its health is known there"),
		})
	}
	return devices, nil
}
