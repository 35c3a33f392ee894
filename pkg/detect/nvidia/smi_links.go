package nvidia

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// gpuPair is two of nvidia-smi's GPU indices, the smaller first.
type gpuPair [2]int

var (
	terminalEscape = regexp.MustCompile("\x1b\\[[0-9;]*m")
	topoGPU        = regexp.MustCompile(`^GPU(\d{1,4})$`)
	topoNVLinks    = regexp.MustCompile(`^NV(\d{1,2})$`)
)

// parseTopology reads the matrix of `nvidia-smi topo -m`: the number of NVLinks between each two GPUs that have any.
// Other relations (PIX, SYS, …) follow from the PCI paths.
func parseTopology(text string) map[gpuPair]int {
	counts := map[gpuPair]int{}
	for _, cell := range host.Matrix(terminalEscape.ReplaceAllString(text, ""), topoGPU.MatchString) {
		row, column := topologyIndex(cell.Row), topologyIndex(cell.Column)
		match := topoNVLinks.FindStringSubmatch(cell.Word)
		if match == nil || row == column {
			continue
		}
		links, _ := strconv.Atoi(match[1])
		pair := gpuPair{min(row, column), max(row, column)}
		if known, ok := counts[pair]; ok {
			links = min(links, known) // a pair is as wide as its narrower direction
		}
		if links > 0 {
			counts[pair] = links
		}
	}
	return counts
}

func topologyIndex(label string) int {
	index, _ := strconv.Atoi(topoGPU.FindStringSubmatch(label)[1])
	return index
}

type gpuNVLinks struct {
	uuid string
	nvLinkFacts
}

// maxNVLinkGBps is far above the rate of any NVLink (NVLink 5: 50 GB/s).
const maxNVLinkGBps = 1000

var nvLinkLine = regexp.MustCompile(`^\s+Link \d{1,2}: (?:<inactive>|(\d{1,4}(?:\.\d{1,6})?) GB/s)`)

// parseNVLinks reads `nvidia-smi nvlink -s`: for each GPU a line with its index and UUID, and a line for each link with
// its rate in one direction, or `<inactive>`.
func parseNVLinks(text string) map[int]*gpuNVLinks {
	gpus := map[int]*gpuNVLinks{}
	var gpu *gpuNVLinks
	for line := range strings.Lines(text) {
		if match := smiListGPU.FindStringSubmatch(line); match != nil {
			index, _ := strconv.Atoi(match[1])
			gpu = &gpuNVLinks{match[2], nvLinkFacts{remotes: map[string]int{}}}
			gpus[index] = gpu
		}
		match := nvLinkLine.FindStringSubmatch(line)
		if match == nil || gpu == nil {
			continue
		}
		mbps := backend.ParseNumber(match[1], 1000, maxNVLinkGBps*1000)
		switch {
		case match[1] == "":
			gpu.total++
		case mbps != nil && *mbps > 0:
			gpu.total++
			gpu.active++
			gpu.mbps += *mbps
		}
	}
	return gpus
}

// migKey is a MIG device in the list that `nvidia-smi -L` prints: its GPU's UUID and its number there.
type migKey struct{ gpuUUID, index string }

type migName struct{ uuid, profile string }

var (
	smiListGPU = regexp.MustCompile(`^GPU (\d{1,4}): .*\(UUID: (GPU-[^)]+)\)`)
	smiListMIG = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+(\d{1,3}): \(UUID: (MIG-[^)]+)\)`)
)

// parseSMIList reads lines of `GPU 0: NAME (UUID: GPU-…)`, each followed by the lines of the GPU's MIG devices.
func parseSMIList(text string) map[migKey]migName {
	names := map[migKey]migName{}
	var gpu string
	for line := range strings.Lines(text) {
		if match := smiListGPU.FindStringSubmatch(line); match != nil {
			gpu = match[2]
		} else if match := smiListMIG.FindStringSubmatch(line); match != nil {
			names[migKey{gpu, match[2]}] = migName{uuid: match[3], profile: match[1]}
		}
	}
	return names
}
