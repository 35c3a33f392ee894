package detect_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// captureSection returns what a capture of all nvidia-smi queries has below `# $ command`.
func captureSection(t *testing.T, capture, command string) string {
	t.Helper()
	_, below, found := strings.Cut(capture, "\n# $ "+command+"\n")
	if !found {
		t.Fatalf("the capture has no output of %s", command)
	}
	_, below, _ = strings.Cut(below, "\n")
	section, _, _ := strings.Cut(below, "\n################")
	return section
}

// capturedTree is a recording of a host whose /sys and /proc were packed without a recording's names.
func capturedTree(t *testing.T, archive []byte) *compose.Host {
	t.Helper()
	h := compose.New("captured")
	reader := tar.NewReader(strings.NewReader(string(archive)))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return h
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join("/", header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			h.Folder(name)
		case tar.TypeSymlink:
			h.Link(name, header.Linkname)
		case tar.TypeReg:
			data, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			h.Keep(h.AddFile(name, string(data)))
		}
	}
}

// recorded replays a committed recording.
func recorded(t testing.TB, name string) *host.Host {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "test", "recordings", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	recording, err := host.ReadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	return recording.Host()
}

// hostOf replays a composed host.
func hostOf(t testing.TB, h *compose.Host) *host.Host {
	t.Helper()
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	return h.Host()
}

// gpuAt is an NVIDIA GPU of the id on a host bridge of its own.
func gpuAt(address, ids string) compose.Function {
	return compose.Function{
		Place: fmt.Sprintf("pci%s/%s", address[:7], address), IDs: ids, Class: "030200", Revision: "a1",
		Driver: "nvidia", NUMA: -1, Link: "32.0 GT/s PCIe x16",
	}
}
