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
	// counts are by block, in the order of amdBlocks; none where the GPU has no RAS.
	counts []amdCount
	// badPages is the number of pages that failed and are still in use.
	badPages int64
}

type amdCount struct {
	block string
	ue    int64
}

// amdBlocks are the memory's controller, the compute units and the copy engines.
var amdBlocks = []string{"umc", "gfx", "sdma"}

func readAMDRAS(files host.Files, folder string) amdRAS {
	var ras amdRAS
	for _, block := range amdBlocks {
		text, ok, err := host.ReadText(files, path.Join(folder, "ras", block+"_err_count"))
		if ok && err == nil {
			ras.counts = append(ras.counts, amdCount{block, parseUncorrectable(text)})
		}
	}
	if len(ras.counts) > 0 {
		pages, _, _ := host.ReadText(files, path.Join(folder, "ras/gpu_vram_bad_pages"))
		ras.badPages = parseBadPages(pages)
	}
	return ras
}

func (r amdRAS) uncorrectable() int64 {
	var sum int64
	for _, c := range r.counts {
		sum += c.ue
	}
	return sum
}

// String lists the counts by their files.
func (r amdRAS) String() string {
	var parts []string
	for _, c := range r.counts {
		parts = append(parts, fmt.Sprintf("ras/%s_err_count: %d", c.block, c.ue))
	}
	return strings.Join(parts, ", ")
}

// signs are the counts, since more of them are worse than before.
func (r amdRAS) signs() backend.Signs {
	var signs backend.Signs
	if len(r.counts) > 0 {
		signs.Count(backend.ReasonUncorrectable, r.uncorrectable())
	}
	return signs
}

// parseUncorrectable reads the `ue: N` line of a RAS error count; 0 where there is none.
func parseUncorrectable(text string) int64 {
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "ue:"); ok {
			count, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err == nil {
				return min(max(count, 0), backend.MaxErrors)
			}
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
