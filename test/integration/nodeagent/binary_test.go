package nodeagent_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/controlplane"
)

// The program as it is installed: a recorded host, another one after SIGHUP, and an orderly end after SIGTERM.
func TestBinary(t *testing.T) {
	s := newSiteFor(t, "binary")
	folder := t.TempDir()
	binary, kubeconfig, recording := filepath.Join(folder, "node-agent"), filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "host.tar")
	if err := repository.Build(t.Context(), binary, "cmd/node-agent"); err != nil {
		t.Fatal(err)
	}
	if err := controlplane.WriteKubeconfig(kubeconfig, agentConfig(t, s.node)); err != nil {
		t.Fatal(err)
	}
	common := []string{"--kubeconfig", kubeconfig, "--node-name", s.name, "--replay", recording, "--health-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--metrics-authentication=false"}

	writeRecording(t, recording, "6.8.0-first")
	once := exec.CommandContext(t.Context(), binary, append(common, "--once")...)
	if output, err := once.CombinedOutput(); err != nil {
		t.Fatalf("--once: %v: %s", err, output)
	}
	if got := s.inventory().Status.Host.Kernel; got != "6.8.0-first" {
		t.Fatalf("kernel after --once = %q, want 6.8.0-first", got)
	}

	writeRecording(t, recording, "6.8.0-second")
	var log logBook
	agent := exec.CommandContext(t.Context(), binary, common...)
	agent.Stderr = &log
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	kernelIs := func(kernel string) func() bool {
		return func() bool { return s.inventory().Status.Host.Kernel == kernel }
	}
	s.await("the second host", kernelIs("6.8.0-second"))
	if status, text := fetch(t, log.address("metrics"), "/metrics"); status != http.StatusOK || !strings.Contains(text, "rankwright_node_agent_detect_duration_seconds_count") {
		t.Errorf("metrics for everybody: %d, %s", status, text)
	}
	writeRecording(t, recording, "6.8.0-third")
	if err := agent.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.await("the third host", kernelIs("6.8.0-third"))
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := agent.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want exit code 0", err)
	}
}

// writeRecording puts a recording of a host with a kernel version in place, at once.
func writeRecording(t *testing.T, name, kernel string) {
	t.Helper()
	recording := host.NewRecording()
	for file, content := range map[string]string{
		"/proc/sys/kernel/osrelease": kernel + "\n",
		"/proc/meminfo":              "MemTotal:       67108864 kB\n",
		"/proc/cpuinfo":              "processor\t: 0\nmodel name\t: Recorded CPU\nphysical id\t: 0\ncore id\t\t: 0\n\n",
	} {
		if err := recording.AddFile(file, content); err != nil {
			t.Fatal(err)
		}
	}
	var content bytes.Buffer
	if _, err := recording.WriteTo(&content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".new", content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}
