package command

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// An agent takes memory on every node: the typed clients of Kubernetes, and the types that they need, would take as much again
// as all the rest of it.
func TestAgentHasNoTypedClients(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	if !slices.Contains(packages, "k8s.io/client-go/dynamic") {
		t.Fatal("the list of packages lacks the client that the agent has")
	}
	for _, heavy := range []string{"k8s.io/client-go/kubernetes", "k8s.io/api/core/v1", "github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"} {
		if slices.Contains(packages, heavy) {
			t.Errorf("the agent is linked with %s: speak to the API by the dynamic client, or ask a program of its own", heavy)
		}
	}
}
