package host

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// withoutAllotment has this process see all devices for the time of a test.
func withoutAllotment(t *testing.T) {
	t.Helper()
	for _, name := range inventory.AllotmentVariables() {
		t.Setenv(name, "") // which puts it back afterwards
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// alike are devices of one product, so that CUDA's order of them is certain.
func alike(t *testing.T) []v1alpha1.Device {
	t.Helper()
	devices := stored(t, "inventory.yaml").Status.Devices
	for i := range devices {
		devices[i].Product = "NVIDIA A40"
	}
	return devices
}

func TestAllotmentIsTold(t *testing.T) {
	var out bytes.Buffer
	printAllotments(&out, alike(t), []string{"CUDA_VISIBLE_DEVICES=1,0", "NVIDIA_VISIBLE_DEVICES=none", "ZE_AFFINITY_MASK=3"})
	want := `note: NVIDIA_VISIBLE_DEVICES=none leaves this process no device
note: CUDA_VISIBLE_DEVICES=1,0 leaves this process nvidia-0000:{41,01}:00.0
note: ZE_AFFINITY_MASK=3 leaves this process no device; it is not certain what it means by 3
`
	if out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
}

// The environment is this process's, so it says nothing of a host that is looked at elsewhere.
func TestAllotmentIsOfThisHost(t *testing.T) {
	withoutAllotment(t)
	t.Setenv("CUDA_VISIBLE_DEVICES", "none")
	tree := t.TempDir()
	if err := os.MkdirAll(filepath.Join(tree, "sys", "bus"), 0o700); err != nil {
		t.Fatal(err)
	}
	const note = "note: CUDA_VISIBLE_DEVICES=none leaves this process no device\n"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"this host":       {[]string{"detect", "--backend", "cpu"}, note},
		"this host's top": {[]string{"detect", "--backend", "cpu", "--root", "/"}, note},
		"a recorded host": {[]string{"detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8")}, ""},
		"another tree":    {[]string{"detect", "--backend", "network", "--root", tree}, ""},
	} {
		if r := hostRun(t, test.args...); r.Code != term.ExitOK || r.Err != test.want {
			t.Errorf("%s: exit code %d, %q; want %q", name, r.Code, r.Err, test.want)
		}
	}
}
