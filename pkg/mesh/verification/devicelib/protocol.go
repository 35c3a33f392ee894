// Package devicelib has the collectives of a library of devices (NCCL, RCCL) done by a program of its own, which is asked by
// lines of JSON and killed where it hangs: a verification goes on without it.
package devicelib

// Program is the name of the program.
const Program = "rankwright-nccl"

// request is a line to the program; one of its fields is set.
type request struct {
	// IDs asks for so many ids by which ranks meet.
	IDs int `json:"ids,omitempty"`
	// Jobs are to be done at the same time.
	Jobs []Job `json:"jobs,omitempty"`
	// Millis is the time for the jobs.
	Millis int64 `json:"millis,omitempty"`
}

// answer is a line from the program. The first line, which nobody asks for, says what was loaded.
type answer struct {
	// Error is why nothing could be loaded, or done.
	Error   string   `json:"error,omitempty"`
	Loaded  *Loaded  `json:"loaded,omitempty"`
	IDs     [][]byte `json:"ids,omitempty"`
	Results []Result `json:"results,omitempty"`
}

// Loaded is a library.
type Loaded struct {
	// Name is NCCL or RCCL.
	Name string `json:"name"`
	// Devices is how many the process sees.
	Devices int `json:"devices"`
}

// Job is the part of one rank in a check that all ranks of a communicator make at the same time. Two ranks measure their link:
// rank 0 sends to rank 1, then the other way. With All, any number of ranks add up.
type Job struct {
	ID []byte `json:"id"`
	// Size is the number of ranks, Rank this rank, and Ordinal the number of its device in the process; both count from 0.
	Size    int  `json:"size"`
	Rank    int  `json:"rank"`
	Ordinal int  `json:"ordinal"`
	All     bool `json:"all,omitempty"`
	// Seed tells what is sent here from what is sent elsewhere.
	Seed uint64 `json:"seed"`
	// Bytes is how much is moved at once, a multiple of 8; 0 means dataBytes.
	Bytes int `json:"bytes,omitempty"`
}

// Result is what became of a job.
type Result struct {
	// MBps is how fast the rank sent, or the bus bandwidth of the sum, in MB/s; 0 where it failed.
	MBps int64 `json:"mbps,omitempty"`
	// Wrong says that what came was not what was sent.
	Wrong bool `json:"wrong,omitempty"`
	// Error is why the job failed; empty where it did not.
	Error string `json:"error,omitempty"`
}
