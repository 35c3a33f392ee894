package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tool prints what it printed, where its device nodes open.
func TestRun(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, commandsName), `{"argv":["npu-smi","info","-t","topo"],"stdout":"NPU0 X"}
{"argv":["npu-smi","info"],"exitCode":3,"stdout":"a table","stderr":"a warning"}
`)
	for _, step := range []struct {
		name, node, want string
		argv             []string
		code             int
	}{
		{name: "no node", argv: []string{"npu-smi", "info"}, code: 1, want: "npu-smi: no device /dev/davinci_manager"},
		{name: "no NPU", node: "/dev/davinci_manager", argv: []string{"npu-smi", "info"}, code: 1, want: "npu-smi: no device /dev/davinci[0-9]*"},
		{name: "all nodes", node: "/dev/davinci0", argv: []string{"npu-smi", "info"}, code: 3, want: "a tablea warning"},
		{name: "other arguments", argv: []string{"npu-smi", "info", "-t", "topo"}, want: "NPU0 X"},
		{name: "not recorded", argv: []string{"npu-smi", "-v"}, code: 1, want: "is not in the recording"},
	} {
		if step.node != "" {
			write(t, filepath.Join(root, step.node), "")
		}
		var output bytes.Buffer
		if code := run(step.argv, root, &output, &output); code != step.code || !strings.Contains(output.String(), step.want) {
			t.Errorf("%s: code %d, want %d with %q: %s", step.name, code, step.code, step.want, &output)
		}
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
