package amd

import (
	"fmt"
	"path"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// kfdNode adds a node of the KFD topology with its links, each in the kernel's form of `name value` lines.
func (s tree) kfdNode(number int, properties string, links ...string) {
	s.Helper()
	dir := path.Join(kfdNodes, fmt.Sprint(number))
	s.File(path.Join(dir, "properties"), properties)
	for i, link := range links {
		s.File(path.Join(dir, "io_links", fmt.Sprint(i), "properties"), link)
	}
}

// amdID are the files by which a function is an AMD GPU.
func amdID(device, class string) compose.Attributes {
	return compose.Attributes{"vendor": "0x1002", "device": "0x" + device, "class": "0x" + class, "revision": "0x00"}
}

// vram are amdgpu's files about memory.
func vram(totalMiB, usedMiB int64) compose.Attributes {
	return compose.Attributes{"mem_info_vram_total": fmt.Sprint(totalMiB << 20), "mem_info_vram_used": fmt.Sprint(usedMiB << 20)}
}

// mi300x is a whole MI300X as amdgpu shows it, in a hive of eight.
func mi300x() compose.Attributes {
	return compose.Merge(amdID("74a1", "120000"), vram(196592, 283), compose.Attributes{
		"product_name": "AMD Instinct MI300X OAM", "current_compute_partition": "SPX", "current_memory_partition": "NPS1",
		"xgmi_hive_info/xgmi_hive_id": "15188982192727901047", "numa_node": "0",
	})
}
