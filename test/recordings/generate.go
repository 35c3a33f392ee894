// Command recordings writes composed recordings of hosts. Those that the demo and tests of other packages replay are committed;
// the tests compose all of them. The same source gives the same bytes.
//
//	go run ./test/recordings                 # writes the committed ones to test/recordings/*.tar.gz
//	go run ./test/recordings -all -o FOLDER  # writes every one
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// recordings is every recording by the name of its file, without the ending.
var recordings = map[string]func() *compose.Host{
	"nvidia-h100-8": h100Host,
	"nvidia-l40s-4": l40sHost,
}

// committed are the recordings that the demo and tests of other packages need as files.
var committed = []string{"amd-mi300x-8", "google-v5p-4", "intel-max1550-4", "nvidia-h100-8", "nvidia-l40s-4", "nvidia-nvml-h100-8"}

func main() {
	folder := flag.String("o", "test/recordings", "folder to write to")
	all := flag.Bool("all", false, "write every recording, not only the committed ones")
	flag.Parse()
	for name, build := range recordings {
		if !*all && !slices.Contains(committed, name) {
			continue
		}
		if err := write(filepath.Join(*folder, name+".tar.gz"), build()); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

func write(name string, host *compose.Host) error {
	if err := host.Err(); err != nil {
		return err
	}
	var archive bytes.Buffer
	if _, err := host.WriteTo(&archive); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return os.WriteFile(name, archive.Bytes(), 0o644) //nolint:gosec // a recording is no secret
}
