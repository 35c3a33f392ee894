package survey

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Views of a host. The recording itself is the view OnHost where tools were run.
const (
	// OnHost is a privileged process that runs the host's tools.
	OnHost = "on-host"
	// NoExec is that without tools.
	NoExec = "no-exec"
	// InPod is a pod with the mounts and rights of the node agent.
	InPod = "in-pod"
)

// measurementNote is the name of the note with what was measured while a view was taken.
const measurementNote = "measurements.json"

// runs is how often a host is detected: once with drivers that may be idle, then with drivers that were just in use.
const runs = 3

// Options are what taking a view needs of the system beside the host.
type Options struct {
	// Now tells the time.
	Now func() time.Time
	// Peaks tells the most memory that this process, and the largest of those that it ran, had resident; in KiB.
	Peaks func() (own, tool int64)
}

// Measurements are what a view took.
type Measurements struct {
	// RunMillis is each detection's time, in ms.
	RunMillis []int64 `json:"runMillis"`
	// Tools are the runs of tools in the order in which they began.
	Tools []ToolRun `json:"tools,omitempty"`
	// PeakKiB is the most memory that the detecting process had resident, ToolPeakKiB that of the largest tool; in KiB.
	PeakKiB     int64 `json:"peakKiB"`
	ToolPeakKiB int64 `json:"toolPeakKiB,omitempty"`
	// Agents are processes of a node agent that runs on the host.
	Agents []Process `json:"agents,omitempty"`
}

// ToolRun is a run of a tool.
type ToolRun struct {
	// Run counts detections from 1.
	Run     int    `json:"run"`
	Command string `json:"tool"`
	Millis  int64  `json:"millis"`
	// Failed is why there is no output, or that the tool said no.
	Failed string `json:"failed,omitempty"`
}

// Take detects a host, reads what else a maintainer needs of it, and returns all that as a recording. It has the host's
// identifiers.
func Take(ctx context.Context, h *host.Host, options Options) (*host.Recording, error) {
	recorded, recording := host.Record(h)
	var found Measurements
	for run := 1; run <= runs; run++ {
		scan := &host.Host{Files: h.Files}
		if run == 1 {
			scan.Files = recorded.Files
		}
		clock := &stopwatch{commands: recorded.Commands, run: run, now: options.Now}
		if recorded.Commands != nil {
			scan.Commands = clock
		}
		start := options.Now()
		detect.Detect(ctx, scan, detect.Options{Now: options.Now})
		found.RunMillis = append(found.RunMillis, options.Now().Sub(start).Milliseconds())
		found.Tools = append(found.Tools, clock.runs()...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// What a host is called is replaced where it is known. In a container the kernel tells the container's name.
	for _, name := range []string{"/proc/sys/kernel/hostname", "/etc/hostname"} {
		_, _ = recorded.Files.ReadFile(name)
	}
	readPlatform(recorded.Files)
	found.Agents = agents(h.Files)
	found.PeakKiB, found.ToolPeakKiB = options.Peaks()
	note, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		return nil, err
	}
	if err := recording.AddNote(measurementNote, string(note)+"\n"); err != nil {
		return nil, err
	}
	return recording, nil
}
