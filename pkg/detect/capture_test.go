package detect_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// shared opens a file of the captures that are kept beside the repository, unpacked where it is a .gz, and skips the
// test where they are absent.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	root := os.Getenv("RANKWRIGHT_SHARED")
	if root == "" {
		root = filepath.Join(repository(t), "..", "shared")
	}
	file, err := os.Open(filepath.Join(root, "captures", name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%v: set RANKWRIGHT_SHARED to the folder that holds captures/", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	var content io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if content, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// repository is the folder that holds go.mod.
func repository(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
	}
	t.Fatal("no go.mod above the test")
	return ""
}

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
	host := compose.New("captured")
	reader := tar.NewReader(strings.NewReader(string(archive)))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return host
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join("/", header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			host.Folder(name)
		case tar.TypeSymlink:
			host.Link(name, header.Linkname)
		case tar.TypeReg:
			data, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			host.Keep(host.AddFile(name, string(data)))
		}
	}
}

// recorded replays a committed recording.
func recorded(t testing.TB, name string) *detect.Host {
	t.Helper()
	file, err := os.Open(filepath.Join(repository(t), "test", "recordings", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	recording, err := detect.ReadRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	return recording.Host()
}

// hostOf replays a composed host.
func hostOf(t testing.TB, host *compose.Host) *detect.Host {
	t.Helper()
	if err := host.Err(); err != nil {
		t.Fatal(err)
	}
	return host.Host()
}

// gpuAt is an NVIDIA GPU of the id on a host bridge of its own.
func gpuAt(address, ids string) compose.Function {
	return compose.Function{
		Place: fmt.Sprintf("pci%s/%s", address[:7], address), IDs: ids, Class: "030200", Revision: "a1",
		Driver: "nvidia", NUMA: -1, Link: "32.0 GT/s PCIe x16",
	}
}
