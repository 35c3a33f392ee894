package main

import (
	"os/exec"
	"strings"
	"testing"
)

// No program but this one loads a library: a library that hangs or crashes must not take the others with it, and they
// are to stay static.
func TestOtherProgramsLoadNoLibrary(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "../node-agent", "../operator", "../kubectl-rankwright").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(output)) {
		switch name := strings.TrimSpace(line); {
		case strings.HasPrefix(name, "github.com/ebitengine/purego"), name == "github.com/rankwright/rankwright/internal/nvml":
			t.Errorf("imports %s", name)
		}
	}
	if !strings.Contains(string(output), "internal/nvml/report") {
		t.Error("the list holds not even what reads the document")
	}
}
