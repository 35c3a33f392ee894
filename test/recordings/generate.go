// Command recordings writes the composed recordings that the demo and the tests replay as further nodes. The same
// source gives the same bytes.
//
//	go run ./test/recordings            # writes test/recordings/*.tar.gz
//	go run ./test/recordings -o FOLDER
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// recordings is every recording by the name of its file, without the ending.
var recordings = map[string]func() *compose.Host{
	"nvidia-h100-8": h100Host,
	"nvidia-l40s-4": l40sHost,
}

func main() {
	folder := flag.String("o", "test/recordings", "folder to write to")
	flag.Parse()
	for name, build := range recordings {
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
