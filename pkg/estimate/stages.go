package estimate

import (
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
	// Reason says why the stage does not fit; empty where it does.
	Reason string `json:"reason,omitempty"`
}

// divide returns the stages of a footprint that end before some layers.
func divide(f *memory.Footprint, ends []int, device memory.Device) []Stage {
	stages := make([]Stage, 0, len(ends))
	first := 0
	for _, end := range ends {
		use, room := f.Use(first, end), f.Room(first, end, device)
		stages = append(stages, Stage{
			FirstLayer: first, LastLayer: end - 1, Memory: Memory{Use: use, Total: use.Total()},
			Available: room.Limit, CacheRoom: max(0, room.Free), Sequences: room.Sequences, Reason: room.Reason,
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
	least := stages[0].Sequences
	for i := range stages {
		least = min(least, stages[i].Sequences)
	}
	return least
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
