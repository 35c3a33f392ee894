package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/survey"
)

// verifiedFolder has files of `node-agent verify` from machines (docs/use/verify-hardware.md).
const verifiedFolder = "hardware"

// The report of every machine that was verified is the one that is written down, and so is the report of a composed host, which
// is verified here.
func TestVerifiedHardware(t *testing.T) {
	t.Run("composed", func(t *testing.T) { checkVerified(t, "amd-mi300x-8", verifyComposed(t, "amd-mi300x-8")) })
	files, err := filepath.Glob(filepath.Join(verifiedFolder, "*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			recording, err := host.ReadRecording(file)
			if err != nil {
				t.Fatal(err)
			}
			checkVerified(t, strings.TrimSuffix(filepath.Base(name), ".tar.gz"), recording)
		})
	}
}

func checkVerified(t *testing.T, name string, recording *host.Recording) {
	t.Helper()
	found, err := survey.Of(t.Context(), recording)
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	if err := found.Write(&report); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", verifiedFolder, name+".txt"), report.String())
}

// verifyComposed verifies a composed host, as its machine would be.
func verifyComposed(t *testing.T, name string) *host.Recording {
	t.Helper()
	h := recordings[name]()
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	options := survey.Options{Now: func() time.Time { return time.Time{} }, Peaks: func() (int64, int64) { return 0, 0 }}
	recording, err := survey.Take(t.Context(), h.Host(), options)
	if err != nil {
		t.Fatal(err)
	}
	anonymous, _, err := detect.Anonymize(recording)
	if err != nil {
		t.Fatal(err)
	}
	return anonymous
}
