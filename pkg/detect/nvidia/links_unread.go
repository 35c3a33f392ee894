package nvidia

import (
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// unreadNVLinks are the GPUs that are in no link, whose product may have NVLinks, and of whose links the driver has not
// told. NVSwitches of newer generations are on no PCI bus of the host, and a bridge between two cards is on none. A GPU that
// is alone has nothing to be linked to.
func unreadNVLinks(gpus []nvidiaGPU, links v1alpha1.Links) []v1alpha1.DeviceID {
	linked := map[v1alpha1.DeviceID]bool{}
	for _, domain := range links.Domains {
		for _, id := range domain.Members {
			linked[id] = true
		}
	}
	for _, pair := range links.Pairs {
		linked[pair.A], linked[pair.B] = true, true
	}
	whole := 0
	var unread []v1alpha1.DeviceID
	for i := range gpus {
		gpu := &gpus[i]
		if gpu.migOn() {
			continue
		}
		whole++
		asked := gpu.facts != nil && gpu.facts.links != nil
		without := gpu.known && !strings.HasPrefix(gpu.product.Link, nvLink)
		if !asked && !without && !linked[gpu.id()] {
			unread = append(unread, gpu.id())
		}
	}
	if whole < 2 {
		return nil
	}
	return unread
}
