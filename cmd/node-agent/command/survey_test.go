package command

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// liveTree is a host's file tree with one GPU and nvidia-smi, which is of this machine only where that is not root's.
func liveTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	const gpu = "sys/bus/pci/devices/0000:17:00.0/"
	for name, content := range map[string]string{
		gpu + "class": "0x030200\n", gpu + "vendor": "0x10de\n", gpu + "device": "0x2330\n",
		gpu + "max_link_width": "16\n", gpu + "max_link_speed": "32.0 GT/s PCIe\n",
		gpu + "current_link_width": "16\n", gpu + "current_link_speed": "32.0 GT/s PCIe\n",
		"proc/sys/kernel/hostname": "gpu-host-17\n", "proc/cpuinfo": "processor : 0\n", "proc/meminfo": "MemTotal: 2097152 kB\n",
		"etc/containerd/config.toml": "enable_cdi = true\npassword = \"hunter2\"\n",
	} {
		place := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil { //nolint:gosec // nothing in it is secret
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The steps of the Job in examples/verify: views first, then the file that joins them, its report, and the file as a log.
func TestVerificationInSteps(t *testing.T) {
	root, folder := liveTree(t), t.TempDir()
	inPod, onHost, file := filepath.Join(folder, "in-pod.tar.gz"), filepath.Join(folder, "on-host.tar.gz"), filepath.Join(folder, "verify.tar.gz")
	must := func(args ...string) (stdout string) {
		t.Helper()
		code, stdout, stderr := runWith(t, args...)
		if code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		return stdout
	}
	must("verify", "view", "--no-exec", "--root="+root, "--output="+inPod)
	must("verify", "view", "--root="+root, "--output="+onHost)
	report := must("verify", "--host="+onHost, "--view=in-pod="+inPod, "--output="+file)
	for _, want := range []string{
		"## View on-host: 1 device", "## View no-exec: 1 device", "## View in-pod: 1 device", "[x] View in-pod lists the devices of view on-host",
		"0000:17:00.0 030200 10de:2330, link 32.0 GT/s x16", "enable_cdi = true", "## Measured in view in-pod",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	if again := must("verify", "print", file); again != report {
		t.Errorf("the file gives another report:\n%s", again)
	}
	sent, err := base64.StdEncoding.DecodeString(must("verify", "print", "--base64", file))
	if err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile(file); err != nil || !bytes.Equal(sent, written) {
		t.Errorf("what was printed is not the file, %v", err)
	}
	if listed := must("--dry-run", "--replay", file, "--node-name=n"); !strings.Contains(listed, "nvidia-0000:17:00.0") {
		t.Errorf("the file does not replay: %s", listed)
	}
	recording, err := readRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := recording.Host().Files.ReadFile("/proc/sys/kernel/hostname"); err != nil || strings.Contains(string(name), "gpu-host") {
		t.Errorf("the host is called %q, %v", name, err)
	}
}

// On a host with a shell there is one step, and it keeps identifiers only where that is asked for.
func TestVerificationOnTheHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "verify.tar.gz")
	code, report, stderr := runWith(t, "verify", "--root="+liveTree(t), "--keep-identifiers", "-o", file)
	if code != exitOK {
		t.Fatal(stderr)
	}
	if !strings.Contains(report, "run the Job of examples/verify") || !strings.Contains(stderr, file) {
		t.Errorf("report: %s\nthen: %s", report, stderr)
	}
	recording, err := readRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := recording.Host().Files.ReadFile("/proc/sys/kernel/hostname"); string(name) != "gpu-host-17\n" {
		t.Errorf("the host is called %q, %v", name, err)
	}
}

func TestMistakesOfVerify(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"verify", "x"}, exitUsage, `unexpected argument "x"`},
		{[]string{"verify", "--view=in-pod"}, exitUsage, "give NAME=FILE"},
		{[]string{"verify", "--view=a=" + none}, exitFailure, "--view a: open"},
		{[]string{"verify", "--host=" + none}, exitFailure, "--host: open"},
		{[]string{"verify", "--root=" + none}, exitFailure, "root of the host's files"},
		{[]string{"verify", "print"}, exitUsage, "takes the file"},
		{[]string{"verify", "print", none}, exitFailure, "no such file"},
		{[]string{"verify", "view", "--no-exec", "--tools-socket=x"}, exitUsage, "--no-exec and --tools-socket"},
		{[]string{"verify", "view", "--no-exec", "--root=" + t.TempDir(), "--output=" + none + "/x"}, exitFailure, "--output"},
	}
	for _, tc := range tests {
		if code, _, stderr := runWith(t, tc.args...); code != tc.code || !strings.Contains(stderr, tc.want) {
			t.Errorf("%v: exit code %d, %q; want %d, %q", tc.args, code, stderr, tc.code, tc.want)
		}
	}
}
