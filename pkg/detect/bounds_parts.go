package detect

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

var families = []v1alpha1.DeviceFamily{
	v1alpha1.FamilyGPU, v1alpha1.FamilyTPU, v1alpha1.FamilyNPU, v1alpha1.FamilyASIC, v1alpha1.FamilyCPU,
}

var precisions = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4, v1alpha1.FP4,
}

var (
	nicKinds     = []string{v1alpha1.NICInfiniBand, v1alpha1.NICRoCE, v1alpha1.NICIWARP, v1alpha1.NICEFA, v1alpha1.NICEthernet}
	storageKinds = []string{v1alpha1.StorageNVMe, v1alpha1.StorageSSD, v1alpha1.StorageHDD, v1alpha1.StorageUnknown}
)

// errorKinds are all values of v1alpha1.ErrorKind.
var errorKinds = []v1alpha1.ErrorKind{
	v1alpha1.ErrorPermissionDenied, v1alpha1.ErrorNotFound, v1alpha1.ErrorDriverMissing, v1alpha1.ErrorToolNotFound, v1alpha1.ErrorToolNotRun, v1alpha1.ErrorToolFailed,
	v1alpha1.ErrorTimeout, v1alpha1.ErrorMalformed, v1alpha1.ErrorTooLarge, v1alpha1.ErrorDefect, v1alpha1.ErrorOther,
}

// oneOf returns the value if it is allowed, else the empty one.
func oneOf[T ~string](value T, allowed ...T) T {
	if slices.Contains(allowed, value) {
		return value
	}
	return ""
}

// boundPCI makes the facts about a function fit the API; its address is the caller's to judge.
func boundPCI(p *v1alpha1.PCIDevice) {
	if p == nil {
		return
	}
	clip(2, &p.Revision)
	clip(4, &p.VendorID, &p.DeviceID, &p.SubsystemVendorID, &p.SubsystemDeviceID)
	clip(64, &p.Root)
	p.Bridges = clipped(p.Bridges[:min(len(p.Bridges), 16)], 16)
	p.LinkMTps = max(p.LinkMTps, 0)
	if p.LinkWidth < 0 || p.LinkWidth > 64 {
		p.LinkWidth = 0
	}
}

// validPCI is the function of a port or disk, without which it can be listed, too.
func validPCI(p *v1alpha1.PCIDevice) *v1alpha1.PCIDevice {
	if p == nil || !pci.IsAddress(p.Address) {
		return nil
	}
	boundPCI(p)
	return p
}

// boundPerformance drops rates that cannot be, and all but the first of a precision.
func boundPerformance(p *v1alpha1.DevicePerformance) {
	if p == nil {
		return
	}
	p.Source = host.Clip(p.Source, 256)
	p.MemoryBandwidthMBps = max(p.MemoryBandwidthMBps, 0)
	seen := map[v1alpha1.Precision]bool{}
	p.Peak = slices.DeleteFunc(p.Peak, func(rate v1alpha1.PeakRate) bool {
		drop := rate.GFLOPS < 0 || seen[rate.Precision] || !slices.Contains(precisions, rate.Precision)
		seen[rate.Precision] = true
		return drop
	})
	p.Peak = p.Peak[:min(len(p.Peak), maxPeaks)]
}

// boundDomain makes a domain fit the API, and says whether it can be listed at all.
func boundDomain(d *v1alpha1.LinkDomain) bool {
	clip(32, &d.Kind)
	clip(96, &d.Name)
	d.DeviceMBps, d.PeerMBps = max(d.DeviceMBps, 0), max(d.PeerMBps, 0)
	d.Generation, d.Links = max(d.Generation, 0), max(d.Links, 0)
	if len(d.Shape) > 6 {
		d.Shape = nil
	}
	if f := d.Fabric; f != nil {
		clip(64, &f.CliqueID)
		clip(128, &f.ClusterUUID)
		if f.ClusterUUID == "" {
			d.Fabric = nil
		}
	}
	known := oneOf(d.Topology, v1alpha1.TopologySwitch, v1alpha1.TopologyMesh, v1alpha1.TopologyTorus, v1alpha1.TopologyRing) != ""
	return known && len(d.Members) > 0 && d.Name != "" && d.Kind != ""
}

// clipped are the texts, none longer than n bytes.
func clipped(texts []string, n int) []string {
	for i := range texts {
		texts[i] = host.Clip(texts[i], n)
	}
	return texts
}
