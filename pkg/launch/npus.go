package launch

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// NPU is what a rank table says of an Ascend device.
type NPU struct {
	// Number is the device's physical number on the host (/dev/davinci0).
	Number int32
	// IP is the address of the device's NIC; empty where it is not known.
	IP string
	// SuperDevice is the device's number in its SuperPod, and SuperPod names the SuperPod; empty where the node is in none.
	SuperDevice uint32
	SuperPod    string
}

// annotationSuperPod on a Node says which SuperPod it belongs to: any word that the nodes of one have in common.
const annotationSuperPod = v1alpha1.Prefix + "super-pod"

// npuAnnotations name the annotations of a Node in which the Ascend device plugin tells the addresses of its devices, the newer first.
var npuAnnotations = []string{"huawei.com/npu.base-device-infos", "baseDeviceInfos"}

// NPUs are the Ascend devices of a node: their numbers from its inventory, and addresses and numbers in the SuperPod from the
// Node's annotations, where it has them.
func NPUs(node string, inventory *v1alpha1.AcceleratorInventoryStatus, annotations map[string]string) (map[v1alpha1.DeviceID]NPU, error) {
	told := map[int32]NPU{}
	for _, name := range npuAnnotations {
		text := annotations[name]
		if text == "" {
			continue
		}
		var err error
		if told, err = parseNPUs(text); err != nil {
			return nil, fmt.Errorf("annotation %s of node %s: %w", name, node, err)
		}
		break
	}
	npus := map[v1alpha1.DeviceID]NPU{}
	for i := range inventory.Devices {
		d := &inventory.Devices[i]
		if d.Vendor != huawei || d.Index == nil {
			continue
		}
		npu := told[*d.Index]
		npu.Number, npu.SuperPod = *d.Index, annotations[annotationSuperPod]
		npus[d.ID] = npu
	}
	return npus, nil
}

// parseNPUs reads the annotation: `{"Ascend910-0":{"IP":"192.168.1.8","SuperDeviceID":0}}`, the number after the last hyphen
// being the physical one. Source: mind-cluster, api.NpuBaseInfo.
func parseNPUs(text string) (map[int32]NPU, error) {
	var told map[string]struct {
		IP            string
		SuperDeviceID uint32
	}
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return nil, err
	}
	npus := make(map[int32]NPU, len(told))
	for name, info := range told {
		number, err := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 31)
		if err != nil {
			return nil, fmt.Errorf("device %q does not end in its number", name)
		}
		if info.IP != "" {
			if _, err := netip.ParseAddr(info.IP); err != nil {
				return nil, fmt.Errorf("device %q: %w", name, err)
			}
		}
		npus[int32(number)] = NPU{Number: int32(number), IP: info.IP, SuperDevice: info.SuperDeviceID}
	}
	return npus, nil
}
