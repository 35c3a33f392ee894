package command

import (
	"bytes"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// A recording is what detection reads and no more; the Node's name stands in it for what the container is called, and is replaced like that of the host.
func TestRecord(t *testing.T) {
	root := liveTree(t)
	names := map[bool]string{false: "host-1\n", true: "gpu-node-17\n"}
	for kept, want := range names {
		args := []string{"record", "--root=" + root, "--node-name=gpu-node-17", "--rescan-interval=5m", "--health-address=:8081"}
		if kept {
			args = append(args, "--keep-identifiers")
		}
		code, stdout, stderr := runWith(t, args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		recording, err := host.ReadRecording(bytes.NewReader([]byte(stdout)))
		if err != nil {
			t.Fatal(err)
		}
		files := recording.Host().Files
		if name, err := files.ReadFile(hostName); string(name) != want {
			t.Errorf("the host is called %q, %v; want %q", name, err, want)
		}
		if vendor, err := files.ReadFile("/sys/bus/pci/devices/0000:17:00.0/vendor"); string(vendor) != "0x10de\n" {
			t.Errorf("vendor %q, %v", vendor, err)
		}
		if text, err := files.ReadFile("/etc/containerd/config.toml"); err == nil {
			t.Errorf("a file is in it that no detection reads: %s", text)
		}
	}
}
