package nvml

import (
	"encoding/hex"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// maxLinks is above the number of links of any GPU so far: 72 are in the names of NVML's metrics.
const maxLinks = 72

// linkVersions are the values of nvmlNvlinkVersion_t.
var linkVersions = map[int64]string{1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}

// remotes are the values of nvmlIntNvLinkDeviceType_t.
var remotes = map[int64]report.Remote{0: report.RemoteGPU, 1: report.RemoteCPU, 2: report.RemoteSwitch}

// readLinks lists the links that the GPU has, active or not.
func (r *gpuReader) readLinks() []report.NVLink {
	var links []report.NVLink
	for index := range uint32(maxLinks) {
		var active uint32
		result := r.linkState(r.handle, index, &active)
		if result == codeInvalidArgument {
			break // the GPU has no such link, and none after it
		}
		if !r.ok("nvmlDeviceGetNvLinkState", result) {
			if result != codeNotSupported {
				break
			}
			continue
		}
		link := report.NVLink{Index: int(index), Active: active != 0}
		if link.Active {
			r.describe(&link, index)
		}
		links = append(links, link)
	}
	return links
}

// describe asks what an active link leads to.
func (r *gpuReader) describe(link *report.NVLink, index uint32) {
	ofLink := func(get func(device, uint32, *uint32) code) func(device, *uint32) code {
		return func(d device, value *uint32) code { return get(d, index, value) }
	}
	if version := r.number("nvmlDeviceGetNvLinkVersion", ofLink(r.linkVersion)); version != nil {
		link.Version = linkVersions[*version]
	}
	link.Remote = report.RemoteUnknown
	if kind := r.number("nvmlDeviceGetNvLinkRemoteDeviceType", ofLink(r.linkRemote)); kind != nil {
		if remote, ok := remotes[*kind]; ok {
			link.Remote = remote
		}
	}
	var pci pciInfo
	if r.ok("nvmlDeviceGetNvLinkRemotePciInfo_v2", r.linkRemotePCI(r.handle, index, &pci)) {
		link.RemotePCI, _ = report.Address(cString(pci.BusID[:]))
	}
	for _, id := range []uint32{fieldLinkSpeed, fieldLinkSpeedCommon} {
		if mbps, ok := r.field(id, index); ok && mbps > 0 {
			link.MBps = mbps
			break
		}
	}
}

// fabricStates are the values of nvmlGpuFabricState_t.
var fabricStates = map[uint8]report.FabricState{
	0: report.FabricNotSupported, 1: report.FabricNotStarted, 2: report.FabricInProgress, 3: report.FabricCompleted,
}

// readFabric asks by the newest version of the struct that the library takes.
func (r *gpuReader) readFabric() *report.Fabric {
	newest := fabricInfo3{fabricInfo2: fabricInfo2{Version: structVersion[fabricInfo3](3)}}
	if r.ok("nvmlDeviceGetGpuFabricInfoV", r.fabric3(r.handle, &newest)) {
		fabric := newFabric(newest.fabricInfo)
		if newest.HealthSummary != 0 {
			fabric.Unhealthy = new(newest.HealthSummary == 2) // NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY
		}
		return fabric
	}
	second := fabricInfo2{Version: structVersion[fabricInfo2](2)}
	if r.ok("nvmlDeviceGetGpuFabricInfoV", r.fabric2(r.handle, &second)) {
		return newFabric(second.fabricInfo)
	}
	var first fabricInfo
	if r.ok("nvmlDeviceGetGpuFabricInfo", r.fabric(r.handle, &first)) {
		return newFabric(first)
	}
	return nil
}

// newFabric is nil where the GPU has no fabric, or one in a state that is not known.
func newFabric(info fabricInfo) *report.Fabric {
	known, ok := fabricStates[info.State]
	if !ok || known == report.FabricNotSupported {
		return nil
	}
	fabric := &report.Fabric{State: known}
	if known == report.FabricCompleted {
		fabric.Status, fabric.Clique, fabric.ClusterUUID = int64(info.Status), new(int64(info.CliqueID)), formatUUID(info.ClusterUUID)
	}
	return fabric
}

func formatUUID(id [16]byte) string {
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
