package estimate

import (
	"math"

	"github.com/rankwright/rankwright/pkg/memory"
)

// Memory is the bytes of one device by component.
type Memory struct {
	memory.Use
	// Total is the sum of the components.
	Total int64 `json:"totalBytes"`
}

// Stage is what each device of a pipeline's stage holds.
type Stage struct {
	// FirstLayer and LastLayer are the stage's first and last layer, from 0.
	FirstLayer int    `json:"firstLayer"`
	LastLayer  int    `json:"lastLayer"`
	Memory     Memory `json:"memory"`
	// Available is what the engine may take of a device, CacheRoom the part of it that is left for the cache.
	Available int64 `json:"availableBytes"`
	CacheRoom int64 `json:"cacheRoomBytes"`
	// Sequences is how many sequences of the full length the cache has room for.
	Sequences int64 `json:"sequences"`
	// Running is how many sequences it has room for as they run; 0 where that is Sequences.
	Running int64 `json:"running,omitempty"`
	// Reason says why the stage does not fit; empty where it does.
	Reason string `json:"reason,omitempty"`
	// graphs is what recorded launches take of Memory.
	graphs int64
}

// divide returns the stages of a footprint that end before some layers.
func divide(f *memory.Footprint, ends []int, device memory.Device) []Stage {
	stages := make([]Stage, 0, len(ends))
	first := 0
	for _, end := range ends {
		use, room := f.Use(first, end), f.Room(first, end, device)
		running := room.Running
		if running == room.Sequences {
			running = 0
		}
		stages = append(stages, Stage{
			FirstLayer: first, LastLayer: end - 1, Memory: Memory{Use: use, Total: use.Total()},
			Available: room.Limit, CacheRoom: max(0, room.Free), Sequences: room.Sequences, Running: running, Reason: room.Reason, graphs: f.Graphs(),
		})
		first = end
	}
	return stages
}

// fullest returns the memory of the stage whose devices hold the most.
func fullest(stages []Stage) Memory {
	most := stages[0].Memory
	for i := range stages {
		if stages[i].Memory.Total > most.Total {
			most = stages[i].Memory
		}
	}
	return most
}

// tightest returns the fewest sequences that any stage has room for.
func tightest(stages []Stage) int64 {
	least := int64(math.MaxInt64)
	for i := range stages {
		least = min(least, max(stages[i].Sequences, stages[i].Running))
	}
	return least
}

// margin returns what the tightest stage leaves of a device, below 0 where it does not fit, and what that may be off by, as shares of what it
// needs there. What recorded launches take is known to no better than itself.
func margin(stages []Stage) (least, known float64) {
	least = math.Inf(1)
	for i := range stages {
		s := &stages[i]
		needed := float64(max(1, s.Memory.Total))
		if left := float64(s.Available-s.Memory.Total) / needed; left < least {
			least, known = left, memory.Doubt+float64(s.graphs)/needed
		}
	}
	return least, known
}

// shortfall says why the stages do not fit; empty where they do.
func shortfall(stages []Stage) string {
	for i := range stages {
		if stages[i].Reason != "" {
			return stages[i].Reason
		}
	}
	return ""
}
