package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
)

// What `make try` runs succeeds on any host, and ends with a plan.
func TestTry(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(t.TempDir(), "kubectl-rankwright")
	if err := repository.Build(t.Context(), plugin, "cmd/kubectl-rankwright"); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "try.sh"), plugin).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"Host: ", "NVIDIA L40S             8       32        16", "Takes:        4 devices on 1 node", "world "} {
		if !strings.Contains(string(said), want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
}
