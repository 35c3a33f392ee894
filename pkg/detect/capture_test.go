package detect_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

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

// gpuAt is an NVIDIA GPU of the id on a host bridge of its own.
func gpuAt(address, ids string) compose.Function {
	return compose.Function{
		Place: fmt.Sprintf("pci%s/%s", address[:7], address), IDs: ids, Class: "030200", Revision: "a1",
		Driver: "nvidia", NUMA: -1, Link: "32.0 GT/s PCIe x16",
	}
}
