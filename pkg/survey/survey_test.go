package survey_test

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/survey"
)

var update = flag.Bool("update", false, "write testdata anew: review the difference before committing it")

// played is a recorded host of 8 H100, with what its recording does not have.
func played(t *testing.T) *host.Host {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(root, "test", "recordings", "nvidia-h100-8.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	recording, err := host.ReadRecording(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"/etc/containerd/config.toml": "version = 3\n[plugins.\"io.containerd.cri.v1.runtime\"]\nenable_cdi = true\n[a.registry.b]\npassword = \"hunter2\"\n",
		"/etc/cdi/nvidia.yaml":        "cdiVersion: 0.7.0\nkind: nvidia.com/gpu\n",
		"/sys/fs/selinux/enforce":     "1",
		"/proc/4711/comm":             "node-agent\n",
		"/proc/4711/cmdline":          "/usr/local/bin/node-agent\x00--root=/host\x00",
		"/proc/4711/status":           "Name:\tnode-agent\nVmHWM:\t   61234 kB\nVmRSS:\t   51234 kB\n",
		"/proc/4712/comm":             "node-agent\n",
		"/proc/4712/cmdline":          "/usr/local/bin/node-agent\x00verify\x00",
		"/proc/4713/comm":             "somebody-elses\n",
	} {
		if err := recording.AddFile(name, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := recording.SetOwner("/dev/nvidia0", host.Owner{GID: 44, Major: 195}); err != nil {
		t.Fatal(err)
	}
	return recording.Host()
}

// mounted are a host's files as the node agent's pod has them.
type mounted struct{ host.Files }

func (m mounted) hides(name string) bool {
	for _, folder := range []string{"/sys", "/proc", "/dev", "/etc/os-release"} {
		if name == "/" || name == "/etc" || name == folder || strings.HasPrefix(name, folder+"/") {
			return false
		}
	}
	return true
}

func (m mounted) gone(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (m mounted) ReadFile(name string) ([]byte, error) {
	if m.hides(name) {
		return nil, m.gone(name)
	}
	return m.Files.ReadFile(name)
}

func (m mounted) ReadDir(name string) ([]string, error) {
	if m.hides(name) {
		return nil, m.gone(name)
	}
	return m.Files.ReadDir(name)
}

func (m mounted) Stat(name string) (fs.FileMode, error) {
	if m.hides(name) {
		return 0, m.gone(name)
	}
	return m.Files.Stat(name)
}

// stopped is a clock that stands still: backends run at the same time, and in no order.
func stopped() time.Time { return time.Unix(0, 0) }

func take(t *testing.T, h *host.Host) *host.Recording {
	t.Helper()
	peaks := func() (int64, int64) { return 42000, 9000 }
	recording, err := survey.Take(t.Context(), h, survey.Options{Now: stopped, Peaks: peaks})
	if err != nil {
		t.Fatal(err)
	}
	return recording
}

// verified is the file of a whole verification, written and read again.
func verified(t *testing.T) *host.Recording {
	t.Helper()
	h := played(t)
	recording := take(t, h)
	inPod := take(t, &host.Host{Files: mounted{h.Files}})
	err := survey.Join(recording, map[string]*host.Recording{survey.InPod: inPod}, []survey.Pod{
		{
			Name: "nvidia-plugin", Asked: "nvidia.com/gpu=1", Expected: 1, Phase: "Succeeded",
			Output: "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-c0100003-0000-4000-8000-000000000003)\ndevices=1 memoryMiB=81559\n",
		},
		{Name: "nvidia-cdi", Asked: "annotations", Expected: 0, Phase: "Succeeded", Output: "devices=7 memoryMiB=570913\n"},
		{Name: "nvidia-rankwright", Asked: "rankwright.dev/nvidia-gpu=1", Expected: 1, Phase: "Pending", Reason: "Unschedulable 0/1 nodes\nare available"},
		{Name: "nvidia-runtime-class", Asked: "runtime class nvidia", Expected: 0, Phase: "Failed", Output: "sh: 1: nvidia-smi: not found\n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	anonymous, _, err := detect.Anonymize(recording)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if _, err := anonymous.WriteTo(&packed); err != nil {
		t.Fatal(err)
	}
	read, err := host.ReadRecording(&packed)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func text(t *testing.T, recording *host.Recording) string {
	t.Helper()
	found, err := survey.Of(t.Context(), recording)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := found.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The report of a whole verification, drawn from nothing but its file.
func TestReport(t *testing.T) {
	got := text(t, verified(t))
	golden := filepath.Join("testdata", "h100.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, secret := range []string{"c0100003", "hunter2", "somebody-elses", "a.registry.b"} {
		if strings.Contains(got, secret) {
			t.Errorf("the report has %q", secret)
		}
	}
}

// A survey leaves what it detects as it is: the file is a recording like any other.
func TestFileReplaysAsTheHost(t *testing.T) {
	h := played(t)
	want := detect.Detect(t.Context(), h, detect.Options{}).Status.Summary
	recording := verified(t)
	if diff := cmp.Diff(want, detect.Detect(t.Context(), recording.Host(), detect.Options{}).Status.Summary); diff != "" {
		t.Errorf("(-host +replay):\n%s", diff)
	}
	view, ok := recording.View(survey.InPod)
	if !ok {
		t.Fatal("the pod's view is not in the file")
	}
	if view.Host().Commands != nil {
		t.Error("the pod's view has commands, which the pod could not run")
	}
}

func TestSurveyThatIsCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := survey.Take(ctx, played(t), survey.Options{Now: time.Now, Peaks: func() (int64, int64) { return 0, 0 }})
	if err == nil {
		t.Error("a survey that was cut off is no survey")
	}
}

// Many tools fail on a broken host; the survey says how, and which could not be read.
func TestBrokenHost(t *testing.T) {
	recording := host.NewRecording()
	recording.AllowCommands()
	for _, err := range []error{
		recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/class", "0x030200"),
		recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/vendor", "0x10de"),
		recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/device", "0x2330"),
		recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/current_link_width", "8"),
		recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/current_link_speed", "2.5 GT/s PCIe"),
		recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/max_link_width", "16"),
		recording.AddFile("/sys/bus/pci/devices/0000:17:00.0/max_link_speed", "32.0 GT/s PCIe"),
		recording.AddLink("/sys/bus/pci/devices/0000:17:00.0/driver", "../../../drivers/nvidia"),
		recording.AddCommand(host.CommandResult{ExitCode: 9, Stderr: []byte("NVIDIA-SMI has failed")}, "nvidia-smi", "-q", "-x"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := text(t, take(t, recording.Host()))
	for _, want := range []string{
		"[!] The link of every accelerator is as wide as it can be:\n    0000:17:00.0 x8 of x16\n",
		"nvidia-smi -q -x  exit code 9\n",
		"[ ] A pod of the node agent sees the same:\n    not looked at: run the Job of examples/verify\n",
		"link 2.5 GT/s x8, of 32.0 GT/s x16",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
}
