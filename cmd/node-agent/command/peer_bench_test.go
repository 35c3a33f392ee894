//go:build linux

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rankwright/rankwright/internal/repository"
)

// BenchmarkBesideNFD runs a detection of this host as a process and the one of Node Feature Discovery's worker in turn, so that
// both meet the same machine, and reports the agent's processor time and memory as parts of the worker's. Neither talks to an
// API server, nor asks a driver.
func BenchmarkBesideNFD(b *testing.B) {
	root, err := repository.Root()
	if err != nil {
		b.Fatal(err)
	}
	worker := filepath.Join(root, ".cache", "bin", "nfd-worker")
	if _, err := os.Stat(worker); err != nil {
		b.Skipf("Node Feature Discovery's worker is not built: run tools/install.sh nfd-worker: %v", err)
	}
	agent := filepath.Join(b.TempDir(), "node-agent")
	if err := repository.Build(b.Context(), agent, "cmd/node-agent"); err != nil {
		b.Fatal(err)
	}
	// The worker wants an API server to be named, and with -no-publish asks it nothing.
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	const nowhere = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u}]\n"
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		b.Fatal(err)
	}
	var ours, theirs usage
	for b.Loop() {
		ours.add(b, agent, "--dry-run", "--no-exec")
		theirs.add(b, worker, "-oneshot", "-no-publish", "-no-owner-refs", "-kubeconfig="+kubeconfig)
	}
	b.ReportMetric(float64(ours.processor)/float64(theirs.processor), "cpu-ratio")
	b.ReportMetric(float64(ours.memoryKiB)/float64(theirs.memoryKiB), "memory-ratio")
	b.ReportMetric(float64(ours.processor.Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(ours.memoryKiB)/1024, "memory-MiB")
}

// usage is what processes took: processor time in sum, and resident memory at the most.
type usage struct {
	processor time.Duration
	memoryKiB int64
}

// add runs a program to its end.
func (u *usage) add(b *testing.B, program string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Env = []string{"NODE_NAME=host", "KUBERNETES_NAMESPACE=default"}
	if output, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", program, err, output)
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatalf("%T", cmd.ProcessState.SysUsage())
	}
	u.processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.memoryKiB = max(u.memoryKiB, used.Maxrss)
}
