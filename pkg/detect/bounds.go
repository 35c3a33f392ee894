package detect

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Bounds of the API (markers of api/v1alpha1): what a driver reports must not make the API server refuse a node's whole
// inventory.
const (
	maxDomains     = 256
	maxBackends    = 64
	maxNICs        = 256
	maxStorage     = 256
	maxPeaks       = 16
	maxBackendName = 32
)

var (
	validID     = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9.:_-]{0,95}$`)
	validVendor = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	validReason = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]{0,63})?$`)
)

// boundDevice makes a device fit the API: texts are clipped, impossible numbers dropped. A device without a valid
// name, vendor or family cannot be listed.
func boundDevice(d v1alpha1.Device) (v1alpha1.Device, error) {
	d = *d.DeepCopy()
	switch {
	case !validID.MatchString(string(d.ID)):
		return d, fmt.Errorf("device %q is left out: not a valid id", host.Clip(string(d.ID), 96))
	case !validVendor.MatchString(d.Vendor) || !slices.Contains(families, d.Family):
		return d, fmt.Errorf("%s is left out: vendor %q, family %q", d.ID, host.Clip(d.Vendor, 32), d.Family)
	case d.PCI != nil && !pci.IsAddress(d.PCI.Address):
		return d, fmt.Errorf("%s is left out: PCI address %q", d.ID, host.Clip(d.PCI.Address, 32))
	case d.Partition != nil && (d.Partition.Kind == "" || !validID.MatchString(string(d.Partition.Parent))):
		return d, fmt.Errorf("%s is left out: partition %q of %q", d.ID, host.Clip(d.Partition.Kind, 32), host.Clip(string(d.Partition.Parent), 96))
	}
	clip(32, &d.ComputeCapability, &d.CUDAVersion)
	clip(64, &d.Architecture, &d.Driver, &d.DriverVersion, &d.FirmwareVersion)
	clip(128, &d.UUID)
	clip(256, &d.Product)
	clip(backend.MaxMessage, &d.Health.Message)
	d.Service, d.ClaimAttribute = nil, nil // no host knows who serves its devices
	d.Paths = clipped(d.Paths[:min(len(d.Paths), backend.MaxPaths)], 256)
	d.ComputeUnits = max(d.ComputeUnits, 0)
	d.Index, d.NUMANode = backend.Natural(d.Index), backend.Natural(d.NUMANode)
	if m := d.Memory; m != nil {
		if m.TotalMiB < 0 || m.TotalMiB > backend.MaxMemoryMiB {
			d.Memory = nil
		} else {
			m.UsedByOthersMiB = min(max(m.UsedByOthersMiB, 0), m.TotalMiB)
			m.Source = oneOf(m.Source, v1alpha1.SourceDriver, v1alpha1.SourceKernel, v1alpha1.SourceCatalogue)
			boundShared(m)
		}
	}
	boundPCI(d.PCI)
	boundPerformance(d.Performance)
	if p := d.Partition; p != nil {
		clip(32, &p.Kind)
		clip(64, &p.Profile)
		p.Index = max(p.Index, 0)
	}
	if oneOf(d.Health.State, v1alpha1.Healthy, v1alpha1.Degraded, v1alpha1.Unhealthy, v1alpha1.Unknown) == "" {
		d.Health = backend.NotMonitored("")
	}
	if !validReason.MatchString(d.Health.Reason) {
		d.Health.Reason = ""
	}
	return d, nil
}

// boundShared drops sizes of shared memory that none can have.
func boundShared(m *v1alpha1.DeviceMemory) {
	if m.Shared == nil {
		return
	}
	for _, size := range []*int64{&m.Shared.CarveOutMiB, &m.Shared.HostMiB} {
		if *size < 0 || *size > backend.MaxMemoryMiB {
			*size = 0
		}
	}
}

// boundHost makes the host's facts fit the API.
func boundHost(h v1alpha1.Host) v1alpha1.Host {
	h = *h.DeepCopy()
	clip(32, &h.CPU.Architecture, &h.Cloud, &h.Container)
	clip(64, &h.InstanceType, &h.Region, &h.Zone)
	clip(128, &h.CPU.Model, &h.Kernel, &h.OS)
	for _, n := range []*int32{&h.CPU.Sockets, &h.CPU.Cores, &h.CPU.Threads} {
		*n = max(*n, 0)
	}
	for _, n := range []*int64{&h.CPU.LimitMilli, &h.Memory.TotalMiB, &h.Memory.LimitMiB} {
		*n = max(*n, 0)
	}
	h.NUMANodes = slices.DeleteFunc(h.NUMANodes, func(n v1alpha1.NUMANode) bool { return n.ID < 0 })
	h.NUMANodes = firstOfEach(h.NUMANodes, backend.MaxNUMANodes, func(n v1alpha1.NUMANode) int32 { return n.ID })
	for i := range h.NUMANodes {
		n := &h.NUMANodes[i]
		n.CPUs, n.MemoryMiB = host.Clip(n.CPUs, 1024), max(n.MemoryMiB, 0)
	}
	return h
}

// boundLinks sorts links and drops what speaks of devices that are not listed, or of the same domain twice.
func boundLinks(links v1alpha1.Links, known map[v1alpha1.DeviceID]string) v1alpha1.Links {
	unknown := func(id v1alpha1.DeviceID) bool { _, ok := known[id]; return !ok }
	var bounded v1alpha1.Links
	for _, domain := range links.Domains {
		domain = *domain.DeepCopy()
		domain.Members = slices.DeleteFunc(domain.Members, unknown)
		slices.Sort(domain.Members)
		domain.Members = slices.Compact(domain.Members)
		if boundDomain(&domain) {
			bounded.Domains = append(bounded.Domains, domain)
		}
	}
	bounded.Domains = firstOfEach(bounded.Domains, maxDomains, func(d v1alpha1.LinkDomain) string { return d.Name })

	for _, pair := range links.Pairs {
		if pair.B < pair.A {
			pair.A, pair.B = pair.B, pair.A
		}
		pair.Kind = host.Clip(pair.Kind, 32)
		if pair.A == pair.B || unknown(pair.A) || unknown(pair.B) || pair.Count < 1 || pair.Count > 64 || pair.MBps < 0 || pair.Kind == "" {
			continue
		}
		pair.Generation = max(pair.Generation, 0)
		bounded.Pairs = append(bounded.Pairs, pair)
	}
	slices.SortStableFunc(bounded.Pairs, func(a, b v1alpha1.LinkPair) int {
		return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.Kind, b.Kind))
	})
	bounded.Pairs = bounded.Pairs[:min(len(bounded.Pairs), backend.MaxPairs)]

	bounded.Unread = slices.DeleteFunc(slices.Clone(links.Unread), unknown)
	slices.Sort(bounded.Unread)
	bounded.Unread = slices.Compact(bounded.Unread)
	return bounded
}

// boundNICs sorts ports by their names and drops what the API would refuse.
func boundNICs(nics []v1alpha1.NIC) []v1alpha1.NIC {
	var bounded []v1alpha1.NIC
	for _, nic := range nics {
		nic = *nic.DeepCopy()
		clip(64, &nic.Name, &nic.Driver)
		nic.Interfaces = slices.DeleteFunc(nic.Interfaces, func(name string) bool { return len(name) > 32 })
		nic.RoCEVersions = clipped(nic.RoCEVersions, 8)
		nic.Interfaces = firstOfEach(nic.Interfaces, 16, itself)
		nic.RoCEVersions = firstOfEach(nic.RoCEVersions, 2, itself)
		nic.NUMANode, nic.Gbps = backend.Natural(nic.NUMANode), max(nic.Gbps, 0)
		nic.PCI = validPCI(nic.PCI)
		if nic.Name != "" && slices.Contains(nicKinds, nic.Kind) {
			bounded = append(bounded, nic)
		}
	}
	return firstOfEach(bounded, maxNICs, func(n v1alpha1.NIC) string { return n.Name })
}

// boundStorage sorts disks by their names and drops what the API would refuse.
func boundStorage(disks []v1alpha1.StorageDevice) []v1alpha1.StorageDevice {
	var bounded []v1alpha1.StorageDevice
	for _, disk := range disks {
		disk = *disk.DeepCopy()
		clip(64, &disk.Name)
		clip(128, &disk.Model)
		disk.NUMANode, disk.SizeMiB = backend.Natural(disk.NUMANode), max(disk.SizeMiB, 0)
		disk.PCI = validPCI(disk.PCI)
		if disk.Name != "" && slices.Contains(storageKinds, disk.Kind) {
			bounded = append(bounded, disk)
		}
	}
	return firstOfEach(bounded, maxStorage, func(d v1alpha1.StorageDevice) string { return d.Name })
}

func itself(s string) string { return s }

// firstOfEach sorts a list by a key, keeps the first entry of each, and no more entries than the API takes.
func firstOfEach[T any, K cmp.Ordered](list []T, most int, key func(T) K) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	list = slices.CompactFunc(list, func(a, b T) bool { return key(a) == key(b) })
	return list[:min(len(list), most)]
}

// clip shortens texts to at most n bytes.
func clip(n int, texts ...*string) {
	for _, text := range texts {
		*text = host.Clip(*text, n)
	}
}
