package command

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rankwright/rankwright/pkg/mesh/verification"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib/devicelibtest"
)

// meshFolder is the mount of a mesh of two pods on this host, with the key's file.
func meshFolder(t *testing.T, more string) (folder, key string) {
	t.Helper()
	var ports [2]int
	for i := range ports {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		address, isTCP := listener.Addr().(*net.TCPAddr)
		if !isTCP {
			t.Fatal(listener.Addr())
		}
		ports[i] = address.Port
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
	task := fmt.Sprintf(`{"version":1,"mesh":"default/llm","plan":"llm-1","copy":0,"deadlineSeconds":60,"minimumShare":0,%s
"pods":[{"index":0,"host":"127.0.0.1","port":%d,"node":"a","ranks":"0"},{"index":1,"host":"127.0.0.1","port":%d,"node":"b","ranks":"1"}],
"groups":[{"kind":"world","ranks":["0-1"]}]}`, more, ports[0], ports[1])
	folder, key = t.TempDir(), filepath.Join(t.TempDir(), "key")
	for name, content := range map[string][]byte{filepath.Join(folder, verification.File(0)): []byte(task), key: bytes.Repeat([]byte("k"), 32)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, key
}

func readReport(t *testing.T, name string) *verification.Report {
	t.Helper()
	message, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	report, err := verification.ParseReport(string(message))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestTwoPodsVerifyTheirMesh(t *testing.T) {
	folder, key := meshFolder(t, "")
	messages := t.TempDir()
	var work sync.WaitGroup
	for pod := range 2 {
		work.Go(func() {
			code, stdout, stderr := runWith(t, "verify-mesh", "--mesh-dir", folder, "--key-file", key, "--index", fmt.Sprint(pod), "--copy=0",
				"--plan=llm-1", "--termination-message", filepath.Join(messages, fmt.Sprint(pod)))
			if code != exitOK || !strings.Contains(stdout, fmt.Sprintf("copy 0, pod %d: Verified", pod)) {
				t.Errorf("pod %d: exit code %d, prints %q, errors %q", pod, code, stdout, stderr)
			}
		})
	}
	work.Wait()
	for pod := range 2 {
		if r := readReport(t, filepath.Join(messages, fmt.Sprint(pod))); r.Outcome != verification.Verified || r.Pod != int32(pod) {
			t.Errorf("pod %d reports %+v", pod, r)
		}
	}
}

func TestVerificationThatFails(t *testing.T) {
	for _, tc := range []struct {
		name, more string
		args       []string
		code       int
		want       string
	}{
		{"required, and the other pod is missing", `"require":true,`, nil, exitFailure, "GroupFailed: the pods did not all meet"},
		{"not required", "", nil, exitOK, "LinkBroken to pod 1"},
		{"verified before this pod came", `"concluded":true,`, nil, exitOK, "pod 0: Concluded"},
		{"no key", `"require":true,`, []string{"--key-file=none"}, exitFailure, "it could not begin: read the mesh's key"},
		{"of another plan", "", []string{"--plan=llm-2", "--files-timeout=0s"}, exitFailure, ""},
		{"of another copy", "", []string{"--copy=1", "--files-timeout=0s"}, exitFailure, ""},
		{"of another size", `"require":true,`, []string{"--index=2"}, exitFailure, "it could not begin: copy 0 of plan llm-1 has no pod 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder, key := meshFolder(t, tc.more)
			name := filepath.Join(folder, verification.File(0))
			task, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, bytes.Replace(task, []byte(`"deadlineSeconds":60`), []byte(`"deadlineSeconds":2`), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			message := filepath.Join(t.TempDir(), "message")
			code, stdout, stderr := runWith(t, append([]string{
				"verify-mesh", "--mesh-dir", folder, "--key-file", key, "--index=0", "--copy=0", "--plan=llm-1", "--termination-message", message,
			}, tc.args...)...)
			if code != tc.code || !strings.Contains(stdout, tc.want) {
				t.Errorf("exit code %d, prints %q, errors %q; want %d and %q", code, stdout, stderr, tc.code, tc.want)
			}
			if r := readReport(t, message); tc.code != exitOK && r.Outcome != verification.Failed {
				t.Errorf("report %+v", r)
			}
		})
	}
}

func TestVerifyMeshNeedsThePodsPlace(t *testing.T) {
	for want, args := range map[string][]string{
		`--index: "" is no number`:  {"verify-mesh"},
		`--copy: "x" is no number`:  {"verify-mesh", "--index=0", "--copy=x"},
		`unexpected argument "all"`: {"verify-mesh", "all"},
	} {
		if code, _, stderr := runWith(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, errors %q, want %q", args, code, stderr, want)
		}
	}
}

// A pod alone measures between its devices, by the program that its flag names; what that cannot load is told, and nothing more.
func TestVerifyMeshBetweenDevices(t *testing.T) {
	for _, tc := range []struct {
		name, faults string
		gpus, code   int
		want, log    string
	}{
		{"all well", "", 2, exitOK, "Between devices: NCCL", ""},
		{"wrong bytes", "wrong p0/0 p0/1\n", 2, exitFailure, "ResultWrong, rank 0 to rank 1: NCCL over NVLink", ""},
		{"too few devices", "", 1, exitOK, "Verified", "NCCL sees 1 devices, and the pod has 2 ranks"},
		{"no program", "", 0, exitOK, "Verified", "devices are not measured"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder, key := meshFolder(t, "")
			task := `{"version":1,"mesh":"default/llm","plan":"llm-1","copy":0,"require":true,"deadlineSeconds":120,"minimumShare":0,` +
				`"pods":[{"index":0,"host":"127.0.0.1","port":` + freePort(t) + `,"node":"n0","ranks":"0-1","wire":"NVLink"}],` +
				`"groups":[{"kind":"tp","ranks":["0-1"]}]}`
			if err := os.WriteFile(filepath.Join(folder, verification.File(0)), []byte(task), 0o600); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(folder, "none")
			if tc.gpus > 0 {
				program = devicelibtest.New(t, tc.faults).Program(t, "p0", tc.gpus)
			}
			message := filepath.Join(t.TempDir(), "message")
			code, stdout, stderr := runWith(t, "verify-mesh", "--mesh-dir", folder, "--key-file", key, "--index=0", "--copy=0", "--plan=llm-1",
				"--termination-message", message, "--device-program", program)
			if code != tc.code || !strings.Contains(stdout, tc.want) || !strings.Contains(stderr, tc.log) {
				t.Errorf("exit code %d, prints %q, errors %q; want %d, %q and %q", code, stdout, stderr, tc.code, tc.want, tc.log)
			}
		})
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// The programs of a verification are copied to where an engine's container runs them.
func TestInstallOfTheVerifier(t *testing.T) {
	folder := t.TempDir()
	if code, _, stderr := runWith(t, "verify-mesh", "install", folder); code != exitOK {
		t.Fatal(stderr)
	}
	info, err := os.Stat(filepath.Join(folder, "node-agent"))
	if err != nil || info.Mode().Perm()&0o111 == 0 || info.Size() == 0 {
		t.Errorf("%v, %v: want a program", info, err)
	}
	if code, _, stderr := runWith(t, "verify-mesh", "install", filepath.Join(folder, "none")); code != exitFailure || !strings.Contains(stderr, "mount a volume there") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if code, _, _ := runWith(t, "verify-mesh", "install"); code != exitUsage {
		t.Errorf("exit code %d without a folder", code)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	devicelibtest.Clean()
	os.Exit(code)
}
