//go:build unix

package helper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where drivers put their library, with the links that their packages make.
func TestLibraryOfTheDriver(t *testing.T) {
	tests := map[string]struct {
		// files are by path; a link begins with "->".
		files map[string]string
		want  string
	}{
		"Debian and Ubuntu": {map[string]string{
			"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1":         "->libnvidia-ml.so.550.54.15",
			"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15": "ELF",
		}, "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15"},
		"Debian with alternatives": {map[string]string{
			"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1":                "->/etc/alternatives/glx--libnvidia-ml.so.1-x86_64-linux-gnu",
			"/etc/alternatives/glx--libnvidia-ml.so.1-x86_64-linux-gnu":  "->/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1",
			"/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1": "ELF",
		}, "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1"},
		"Fedora and Red Hat": {map[string]string{"/usr/lib64/libnvidia-ml.so.1": "ELF"}, "/usr/lib64/libnvidia-ml.so.1"},
		"GKE":                {map[string]string{"/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1": "ELF"}, "/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1"},
		"a driver container, and what an older driver left": {map[string]string{
			"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "ELF",
			"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1":                   "ELF",
		}, "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"},
		"a link to what was removed": {map[string]string{
			"/usr/lib64/libnvidia-ml.so.1": "->libnvidia-ml.so.470.1", "/usr/lib/libnvidia-ml.so.1": "ELF",
		}, "/usr/lib/libnvidia-ml.so.1"},
		"a link out of the tree": {map[string]string{"/usr/lib64/libnvidia-ml.so.1": "->../../../../../../etc/passwd"}, ""},
		"none":                   {map[string]string{"/usr/lib64/libc.so.6": "ELF"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for name, content := range test.files {
				place(t, filepath.Join(root, name), content)
			}
			want := []string{"rankwright-nvml", "query"}
			if test.want != "" {
				want = append(want, "-library="+root+test.want, "-driver-gpus="+root+"/proc/driver/nvidia/gpus")
			}
			if diff := cmp.Diff(want, WithLibrary(root)([]string{"rankwright-nvml", "query"})); diff != "" {
				t.Errorf("arguments differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDriverForContainersIsLookedForOnTheHost(t *testing.T) {
	argv := []string{"rankwright-cdi", "generate", "--make-nodes", "--hook=", "--imex-channels="}
	if diff := cmp.Diff(append(argv[:5:5], "--host=/mnt"), WithLibrary("/mnt")(argv)); diff != "" {
		t.Errorf("arguments differ (-want +got):\n%s", diff)
	}
}

func TestOtherToolsKeepTheirArguments(t *testing.T) {
	root := t.TempDir()
	place(t, filepath.Join(root, "usr", "lib64", "libnvidia-ml.so.1"), "ELF")
	for _, argv := range [][]string{{"nvidia-smi", "-L"}, {"rankwright-nvml"}, nil} {
		if diff := cmp.Diff(argv, WithLibrary(root)(argv)); diff != "" {
			t.Errorf("arguments differ (-want +got):\n%s", diff)
		}
	}
}

func place(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // a test's
		t.Fatal(err)
	}
	target, isLink := strings.CutPrefix(content, "->")
	if isLink {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil { //nolint:gosec // a test's
		t.Fatal(err)
	}
}
