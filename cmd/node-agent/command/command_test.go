package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// recordHost writes a recording of a host with a kernel version and nothing else.
func recordHost(t *testing.T) string {
	t.Helper()
	recording := host.NewRecording()
	for name, content := range map[string]string{
		"/proc/sys/kernel/osrelease": "6.8.0-recorded\n",
		"/proc/meminfo":              "MemTotal:       67108864 kB\n",
		"/proc/cpuinfo":              "processor\t: 0\nmodel name\t: Recorded CPU\nphysical id\t: 0\ncore id\t\t: 0\n\n",
	} {
		if err := recording.AddFile(name, content); err != nil {
			t.Fatal(err)
		}
	}
	var content bytes.Buffer
	if _, err := recording.WriteTo(&content); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "host.tar")
	if err := os.WriteFile(name, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func runWith(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, &out, &errs, nil)
	return code, out.String(), errs.String()
}

func TestDryRunNeedsNoAPIServer(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	recording := recordHost(t)
	code, first, stderr := runWith(t, "--dry-run", "--replay", recording, "--node-name", "n1")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	documents := strings.Split(strings.TrimPrefix(first, "---\n"), "---\n")
	if len(documents) != 2 {
		t.Fatalf("%d documents, want the inventory and the Node:\n%s", len(documents), first)
	}
	var inventory v1alpha1.AcceleratorInventory
	if err := yaml.UnmarshalStrict([]byte(documents[0]), &inventory); err != nil {
		t.Fatal(err)
	}
	if inventory.Name != "n1" || inventory.Status.Host.Kernel != "6.8.0-recorded" {
		t.Errorf("inventory of %q with kernel %q, want the recorded host as n1", inventory.Name, inventory.Status.Host.Kernel)
	}
	if _, second, _ := runWith(t, "--once", "--dry-run", "--replay", recording, "--node-name", "n1", "--no-exec"); second != first {
		t.Errorf("a second run prints something else:\n%s\nbefore:\n%s", second, first)
	}
}

func TestUsage(t *testing.T) {
	folder := t.TempDir()
	byCDI := filepath.Join(folder, "cdi.yaml")
	if err := os.WriteFile(byCDI, []byte("vendors: {nvidia: {serve: true, injection: CDI}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(config, []byte("vendors: {nvidia: {serve: true}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown flag", []string{"--bogus"}, "unknown flag: --bogus"},
		{"argument", []string{"now"}, `unexpected argument "now": the agent takes flags only`},
		{"no duration", []string{"--rescan-interval=soon"}, `invalid argument "soon" for "--rescan-interval"`},
		{"node name", []string{"--node-name=A b"}, `--node-name: "A b" cannot be a Node's name`},
		{"lease namespace", []string{"--lease-namespace=a.b"}, `--lease-namespace: "a.b" cannot be a namespace`},
		{"rescan interval", []string{"--rescan-interval=1s"}, "--rescan-interval: 1s is too short: take at least 5s"},
		{"backend timeout", []string{"--backend-timeout=-1s"}, "--backend-timeout: -1s is too short: take at least 100ms"},
		{"health address", []string{"--health-address=8081"}, `--health-address: "8081" is no address: take host:port (:8080), or 0`},
		{"metrics port", []string{"--metrics-address=:70000"}, `--metrics-address: ":70000" has no valid port`},
		{"log level", []string{"-v=loud"}, `--log-level: "loud" is no level: take debug, info, warn or error`},
		{"no recording", []string{"--replay=" + filepath.Join(folder, "none")}, "--replay: cannot open the recording"},
		{"recording is a folder", []string{"--replay=" + folder}, "is a folder: name a tar or tar.gz file"},
		{"cleanup of a bad namespace", []string{"cleanup", "--agent-namespace=a.b"}, `--agent-namespace: "a.b" cannot be a namespace`},
		{"cleanup at once", []string{"cleanup", "--timeout=1ms"}, "--timeout: 1ms is too short: take at least 1s"},
		{"cleanup of something", []string{"cleanup", "n1"}, `unexpected argument "n1": cleanup takes flags only`},
		{"record of something", []string{"record", "n1"}, `unexpected argument "n1": record takes flags only`},
		{"record with a mistake", []string{"record", "--log-level=loud"}, `--log-level: "loud" is no level`},
		{"no root", []string{"--root=" + filepath.Join(folder, "none")}, "--root: cannot open the host's file tree"},
		{"no configuration", []string{"--config=" + filepath.Join(folder, "none")}, "--config: open"},
		{"configuration", []string{"--config=" + config}, "vendors.nvidia.injection: is empty"},
		{"no program to find the driver by", []string{"--no-exec", "--config=" + byCDI}, "name a node-helper by --tools-socket"},
		{"replay and root", []string{"--replay=" + folder, "--root=/"}, "--replay and --root: a recording brings its own file tree"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, _, stderr := runWith(t, tc.args...)
			if code != exitUsage || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, want %d; message %q, want %q in it", code, exitUsage, stderr, tc.want)
			}
		})
	}
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	_, _, stderr := runWith(t, "--rescan-interval=1s", "--node-name=A")
	for _, flag := range []string{"--rescan-interval", "--node-name"} {
		if !strings.Contains(stderr, flag) {
			t.Errorf("%s is not told of in %q", flag, stderr)
		}
	}
}

func TestFailures(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no kubeconfig", []string{"--kubeconfig=" + none, "--once"}, "set --kubeconfig, or --dry-run to see what would be published"},
		{"no recording", []string{"--replay=" + garbage, "--dry-run"}, "read the recording " + garbage},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, _, stderr := runWith(t, append(tc.args, "--node-name=n")...)
			if code != exitFailure || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, want %d; message %q, want %q in it", code, exitFailure, stderr, tc.want)
			}
		})
	}
}

func TestNodeNameComesFromTheEnvironment(t *testing.T) {
	t.Setenv("NODE_NAME", "from-the-environment")
	recording := recordHost(t)
	for want, args := range map[string][]string{
		"name: from-the-environment": {"--dry-run", "--replay", recording},
		"name: from-the-flag":        {"--dry-run", "--replay", recording, "--node-name=from-the-flag"},
	} {
		if _, stdout, stderr := runWith(t, args...); !strings.Contains(stdout, want) {
			t.Errorf("%v print %q, want %q in it; errors %q", args, stdout, want, stderr)
		}
	}
}
