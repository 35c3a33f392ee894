package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// The committed recordings are what the source makes.
func TestRecordingsAreUpToDate(t *testing.T) {
	for _, name := range committed {
		t.Run(name, func(t *testing.T) {
			h := recordings[name]()
			if err := h.Err(); err != nil {
				t.Fatal(err)
			}
			var want, got bytes.Buffer
			if _, err := h.WriteTo(&want); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(name + ".tar.gz")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close() //nolint:errcheck // only read
			stored, err := host.ReadRecording(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stored.WriteTo(&got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want.Bytes(), got.Bytes()) {
				t.Error("run `go run ./test/recordings` and commit the result")
			}
			if stored.Readme == "" {
				t.Error("does not say what it is")
			}
		})
	}
}
