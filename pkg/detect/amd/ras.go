package amd

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// amdRAS is what amdgpu counts of errors that ECC could not mend. Source: Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c
// ("RAS sysfs Error Count Interface", "RAS sysfs gpu_vram_bad_pages Interface").
type amdRAS struct {
	// counted lists the counts by their files, in the order of amdBlocks; none where the GPU has no RAS.
	counted []string
	// uncorrectable is their sum, badPages the number of pages that failed and are still in use.
	uncorrectable, badPages int64
}

// amdBlocks are the memory's controller, the compute units and the copy engines.
var amdBlocks = []string{"umc", "gfx", "sdma"}

func readAMDRAS(files host.Files, folder string) amdRAS {
	var ras amdRAS
	for _, block := range amdBlocks {
		text, ok, err := host.ReadText(files, path.Join(folder, "ras", block+"_err_count"))
		if ok && err == nil {
			count := parseUncorrectable(text)
			ras.uncorrectable += count
			ras.counted = append(ras.counted, fmt.Sprintf("ras/%s_err_count: %d", block, count))
		}
	}
	if len(ras.counted) > 0 {
		ras.badPages = parseBadPages(host.Text(files, folder, "ras/gpu_vram_bad_pages"))
	}
	return ras
}

// String lists the counts by their files.
func (r amdRAS) String() string { return strings.Join(r.counted, ", ") }

// signs are the counts, since more of them are worse than before.
func (r amdRAS) signs() backend.Signs {
	var signs backend.Signs
	if len(r.counted) > 0 {
		signs.Count(backend.ReasonUncorrectable, r.uncorrectable)
	}
	return signs
}

// parseUncorrectable reads the `ue: N` line of a RAS error count; 0 where there is none.
func parseUncorrectable(text string) int64 {
	for name, value := range host.Pairs(text, ":") {
		if count, err := strconv.ParseInt(value, 10, 64); err == nil && name == "ue" {
			return min(max(count, 0), backend.MaxErrors)
		}
	}
	return 0
}

// parseBadPages counts the pages of a list (`0x00000001 : 0x00001000 : P`) that wait to be taken out of use (P) or cannot
// be (F); those with R are out of use.
func parseBadPages(text string) int64 {
	var count int64
	for line := range strings.Lines(text) {
		fields := strings.Split(line, ":")
		if flag := strings.TrimSpace(fields[len(fields)-1]); len(fields) == 3 && (flag == "P" || flag == "F") {
			count++
		}
	}
	return count
}
