package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect"
)

// The committed recordings are what the source makes.
func TestRecordingsAreUpToDate(t *testing.T) {
	for name, build := range recordings {
		t.Run(name, func(t *testing.T) {
			host := build()
			if err := host.Err(); err != nil {
				t.Fatal(err)
			}
			var want, got bytes.Buffer
			if _, err := host.WriteTo(&want); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(name + ".tar.gz")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close() //nolint:errcheck // only read
			committed, err := detect.ReadRecording(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := committed.WriteTo(&got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want.Bytes(), got.Bytes()) {
				t.Error("run `go run ./test/recordings` and commit the result")
			}
			if committed.Readme == "" {
				t.Error("does not say what it is")
			}
		})
	}
}
