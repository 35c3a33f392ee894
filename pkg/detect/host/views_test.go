package host

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// surveyed is a recording with a view, notes and an owner.
func surveyed(t *testing.T) *Recording {
	t.Helper()
	recording, view := NewRecording(), NewRecording()
	for _, err := range []error{
		recording.AddFile("/proc/sys/kernel/hostname", "gpu-host-17\n"),
		recording.AddDevice("/dev/dri/renderD128"),
		recording.SetOwner("/dev/dri/renderD128", Owner{UID: 0, GID: 992, Major: 226, Minor: 128}),
		recording.AddNote("measurements.json", `{"peakKiB": 4}`),
		recording.AddNote("pod.nvidia.txt", "GPU 0: (UUID: GPU-3b0bd4cf-9f3b-4f5c-8d6e-5d8ee1a0c111) on gpu-host-17\n"),
		view.AddFile("/proc/sys/kernel/hostname", "gpu-host-17\n"),
		view.AddFile("/sys/uuid", "GPU-3b0bd4cf-9f3b-4f5c-8d6e-5d8ee1a0c111\n"),
		view.AddCommand(CommandResult{Stdout: []byte("host gpu-host-17\n")}, "tool"),
		view.AddNote("measurements.json", "{}"),
		recording.AddView("in-pod", view),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return recording
}

func TestViewsNotesAndOwnersArePackedAndUnpacked(t *testing.T) {
	packed := pack(t, surveyed(t))
	read, err := ReadRecording(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed, pack(t, read)) {
		t.Error("packing what was unpacked gives other bytes")
	}
	if diff := cmp.Diff([]string{"measurements.json", "pod.nvidia.txt"}, read.Notes()); diff != "" {
		t.Errorf("notes: %s", diff)
	}
	view, ok := read.View("in-pod")
	if !ok || len(read.Views()) != 1 {
		t.Fatalf("views are %v", read.Views())
	}
	h := view.Host()
	if text, err := h.Files.ReadFile("/sys/uuid"); err != nil || !strings.HasPrefix(string(text), "GPU-3b0b") {
		t.Errorf("the view's file is %q, %v", text, err)
	}
	if _, err := read.Host().Files.Stat("/sys/uuid"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the view's file is in the recording itself: %v", err)
	}
	if result, err := h.Commands.Run(t.Context(), "tool"); err != nil || string(result.Stdout) != "host gpu-host-17\n" {
		t.Errorf("the view's tool says %q, %v", result.Stdout, err)
	}
	owner, err := OwnerOf(read.Host().Files, "/dev/dri/renderD128")
	if want := (Owner{GID: 992, Major: 226, Minor: 128}); err != nil || owner != want {
		t.Errorf("owner is %v, %v", owner, err)
	}
	if _, err := OwnerOf(read.Host().Files, "/proc/sys/kernel/hostname"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an owner that nobody asked for: %v", err)
	}
}

// What is replaced in one part has the same replacement in all, and stands in none.
func TestViewsAndNotesAreAnonymous(t *testing.T) {
	anonymous, _, err := surveyed(t).Anonymize()
	if err != nil {
		t.Fatal(err)
	}
	view, _ := anonymous.View("in-pod")
	inView, err := view.Host().Files.ReadFile("/sys/uuid")
	if err != nil {
		t.Fatal(err)
	}
	note := anonymous.Note("pod.nvidia.txt")
	if uuid := strings.TrimSpace(string(inView)); !strings.Contains(note, uuid) {
		t.Errorf("the view has %s, and the note says %q", uuid, note)
	}
	result, err := view.Host().Commands.Run(t.Context(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"note": note, "file": string(inView), "output": string(result.Stdout)} {
		if strings.Contains(text, "3b0bd4cf") || strings.Contains(text, "gpu-host-17") {
			t.Errorf("%s: %q has identifiers", what, text)
		}
	}
	if owner, err := OwnerOf(anonymous.Host().Files, "/dev/dri/renderD128"); err != nil || owner.GID != 992 {
		t.Errorf("owner is %v, %v", owner, err)
	}
}

func TestPartsThatCannotBe(t *testing.T) {
	inner := NewRecording()
	if err := inner.AddView("a", NewRecording()); err != nil {
		t.Fatal(err)
	}
	recording := surveyed(t)
	for want, err := range map[string]error{
		"has views of its own": recording.AddView("b", inner),
		"is there already":     recording.AddView("in-pod", NewRecording()),
		"a name has lower":     recording.AddNote("../x", ""),
		"larger than allowed":  recording.AddNote("x", strings.Repeat("x", maxFileSize+1)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, text := range []string{"1:2", "1:2 3:x", "1:2 3:4294967296"} {
		if _, err := parseOwner(text); err == nil {
			t.Errorf("%q is taken for an owner", text)
		}
	}
}

// The recorder asks this machine for the owner, as root's tree and as one that is mounted elsewhere.
func TestOwnersOfThisMachine(t *testing.T) {
	root := tree(t, map[string]string{"dev/dri/renderD128": "", "dev/by-name": "->dri/renderD128"})
	want, err := OwnerOf(LiveFiles("/"), root+"/dev/dri/renderD128")
	if err != nil {
		t.Skip(err)
	}
	recorded, recording := Record(&Host{Files: LiveFiles(root)})
	if owner, err := OwnerOf(recorded.Files, "/dev/by-name"); err != nil || owner != want {
		t.Errorf("owner is %v, %v; want %v", owner, err, want)
	}
	if _, err := recorded.Files.ReadFile("/dev/dri/renderD128"); err != nil { // filled in after it was seen
		t.Fatal(err)
	}
	if owner, err := OwnerOf(recording.Host().Files, "/dev/by-name"); err != nil || owner != want {
		t.Errorf("replay: owner is %v, %v; want %v", owner, err, want)
	}
	null, err := OwnerOf(LiveFiles("/"), "/dev/null")
	if err != nil || null.Major != 1 || null.Minor != 3 {
		t.Errorf("/dev/null is of %v, %v; it is 1:3 (mem(4))", null, err)
	}
}
