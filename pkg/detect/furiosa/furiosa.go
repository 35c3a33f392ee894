// Package furiosa finds FuriosaAI's NPUs.
package furiosa

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// NPU finds the NPUs of FuriosaAI by their PCI ids. The driver's management class in sysfs (rngd_mgmt, npu_mgmt)
// says at which PCI address the NPU of which number sits, its UUID and firmware, and whether it is alive. furiosa-smi
// adds the memory and the load of an RNGD.
//
// Sources: pci.ids; furiosa-ai/device-api and furiosa-ai/furiosa-smi-go (Apache-2.0) for classes, files and nodes.
func NPU() backend.Backend {
	return backend.NewOnPCI(furiosaKind, backend.ByVendor("1ed2"), list)
}

var furiosaKind = backend.Kind{Backend: "furiosa", Vendor: "furiosa", Family: v1alpha1.FamilyNPU}

// furiosaProducts are the products by PCI device id (pci.ids).
var furiosaProducts = map[string]string{"0000": "Warboy", "0001": "RNGD", "0002": "RNGD-Plus", "2222": "RNGD-S"}

// furiosaClass is a driver's management class: where its devices' nodes are, and which file says that one is alive.
type furiosaClass struct{ name, nodes, alive string }

var (
	rngdClass   = furiosaClass{name: "rngd_mgmt", nodes: "/dev/rngd", alive: "device_state"}
	warboyClass = furiosaClass{name: "npu_mgmt", nodes: "/dev", alive: "alive"}
)

func list(ctx context.Context, h *host.Host, functions []pci.Function, found *backend.Found) {
	members := map[string]map[string][]sysfs.Member{}
	for _, class := range []furiosaClass{rngdClass, warboyClass} {
		of, err := pci.MembersByAddress(h.Files, class.name, "busname")
		members[class.name] = of
		found.Degrade(err)
	}
	npus := make([]furiosaNPU, len(functions))
	for i, function := range functions {
		class := furiosaClassOf(function)
		npus[i] = readFuriosaNPU(h.Files, function, class, members[class.name][function.Address])
	}
	status, err := queryFuriosaSMI(ctx, h, npus)
	found.Degrade(err)
	for i := range npus {
		found.Add(npus[i].device(h.Files, status))
	}
}

// furiosaNPU is a PCI function with what its driver shows of it.
type furiosaNPU struct {
	pci.Function
	class furiosaClass
	// name is the kernel's name of the NPU (`npu0`); empty where no driver shows it.
	name                             string
	uuid, firmware, version, aliveAs string
	paths                            []string
}

func furiosaClassOf(function pci.Function) furiosaClass {
	if function.DeviceID == "0000" {
		return warboyClass
	}
	return rngdClass
}

var furiosaName = regexp.MustCompile(`npu\d{1,4}`)

func readFuriosaNPU(files host.Files, function pci.Function, class furiosaClass, members []sysfs.Member) furiosaNPU {
	if len(members) == 0 {
		return furiosaNPU{Function: function, class: class}
	}
	own := path.Join("/sys/class", class.name, members[0].Name)
	npu := furiosaNPU{
		Function: function, class: class, name: furiosaName.FindString(members[0].Name),
		uuid: host.Text(files, own, "device_uuid"), firmware: host.Text(files, own, "fw_version"),
		version: host.Text(files, own, "version"), aliveAs: host.Text(files, own, class.alive),
	}
	npu.paths = npu.nodes(files)
	return npu
}

// nodes are the device nodes of the NPU's cores, groups of cores and channels: named as the NPU, then anything but a
// digit (`npu1pe0-3`, not `npu10pe0`).
func (n *furiosaNPU) nodes(files host.Files) []string {
	names, _ := host.ReadNames(files, n.class.nodes)
	var nodes []string
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, n.name)
		if ok && (rest == "" || rest[0] < '0' || rest[0] > '9') {
			nodes = append(nodes, path.Join(n.class.nodes, name))
		}
	}
	slices.Sort(nodes)
	return nodes[:min(len(nodes), backend.MaxPaths)]
}

func (n *furiosaNPU) device(files host.Files, status map[string]furiosaStatus) (v1alpha1.Device, backend.Reading, backend.Signs) {
	device, _, _ := furiosaKind.Device(files, n.Function, furiosaProducts[n.DeviceID])
	device.UUID, device.FirmwareVersion, device.Paths = n.uuid, n.firmware, n.paths
	device.DriverVersion = cmp.Or(n.version, device.DriverVersion)
	if number, ok := host.ParseIndex(strings.TrimPrefix(n.name, "npu")); ok {
		device.Index = new(int32(number))
	}
	device.Health = n.health()
	reading, signs := backend.ReadHwmon(files, n.Path)
	if s, ok := status[n.name]; ok && n.name != "" {
		s.add(&device, &reading)
	}
	return device, reading, signs
}

func (n *furiosaNPU) health() v1alpha1.DeviceHealth {
	seen := backend.DriverHealth(n.Driver, n.paths, "install furiosa-driver-rngd or furiosa-driver-warboy")
	switch {
	case seen.State != v1alpha1.Healthy:
		return seen
	case n.aliveAs == "1":
		return backend.Healthy("the driver says in " + n.class.alive + " that the NPU is alive")
	case n.aliveAs == "0":
		return backend.Unhealthy("NotAlive", fmt.Sprintf("the driver says in %s that the NPU is not alive: see dmesg", n.class.alive))
	default:
		return backend.NotMonitored(fmt.Sprintf("the driver's %s is %q and does not say whether the NPU is alive", n.class.alive, host.Clip(n.aliveAs, 32)))
	}
}

// furiosaStatus is an element of `furiosa-smi status --format json`.
type furiosaStatus struct {
	Device string `json:"device"`
	Memory struct {
		DRAM struct {
			Used  int64 `json:"used_size"`
			Total int64 `json:"total_size"`
		}
	} `json:"memory"`
	Cores []struct {
		Percent float64 `json:"pe_utilization"`
	} `json:"pe_utilizations"`
}

// queryFuriosaSMI returns the status of the NPUs by their kernel names. furiosa-smi is only run where an RNGD has a driver: it
// does not know Warboy's.
func queryFuriosaSMI(ctx context.Context, h *host.Host, npus []furiosaNPU) (map[string]furiosaStatus, error) {
	if !slices.ContainsFunc(npus, func(n furiosaNPU) bool { return n.class == rngdClass && n.name != "" }) {
		return nil, nil
	}
	return host.Ask(ctx, h, "", parseFuriosaStatus, host.FuriosaStatus...)
}

func parseFuriosaStatus(output []byte) (map[string]furiosaStatus, error) {
	var list []furiosaStatus
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, fmt.Errorf("is no list of NPUs: %w", err)
	}
	status := map[string]furiosaStatus{}
	for _, s := range list[:min(len(list), backend.MaxDevices)] {
		status[s.Device] = s
	}
	return status, nil
}

// add sets the memory and the load, where they are numbers that can be.
func (s furiosaStatus) add(device *v1alpha1.Device, reading *backend.Reading) {
	total, used := s.Memory.DRAM.Total>>20, s.Memory.DRAM.Used>>20
	if total > 0 && total <= backend.MaxMemoryMiB && used >= 0 && used <= total {
		device.Memory = backend.Memory(total, used, v1alpha1.SourceDriver)
		reading.MemoryUsedMiB = &used
	}
	sum := 0.0
	for _, core := range s.Cores {
		sum += min(max(core.Percent, 0), 100)
	}
	if len(s.Cores) > 0 {
		reading.UtilizationPercent = backend.Percent(int64(sum / float64(len(s.Cores))))
	}
}
