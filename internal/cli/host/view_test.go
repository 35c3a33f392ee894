package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// A view of a recording is looked at in place of the recording.
func TestDetectOfAView(t *testing.T) {
	recording, view := host.NewRecording(), host.NewRecording()
	for _, err := range []error{
		recording.AddFile("/proc/sys/kernel/hostname", "whole\n"), view.AddFile("/proc/sys/kernel/hostname", "from-within\n"),
		recording.AddView("in-pod", view),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "verify.tar.gz")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recording.WriteTo(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	_, called, err := (&hostOptions{replay: name, view: "in-pod"}).host()
	if err != nil || called != "verify" {
		t.Fatalf("called %q, %v", called, err)
	}
	found, err := (&hostOptions{replay: name, view: "in-pod"}).look(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil || found.inventory.Name != "from-within" {
		t.Errorf("looked at %q, %v", found.inventory.Name, err)
	}
	if _, err := (&hostOptions{replay: name, view: "none"}).look(t.Context(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "has in-pod") {
		t.Errorf("a view that is not there: %v", err)
	}
	if err := (&hostOptions{view: "in-pod"}).check(); err == nil || !strings.Contains(err.Error(), "add --replay") {
		t.Errorf("a view of this host: %v", err)
	}
}
