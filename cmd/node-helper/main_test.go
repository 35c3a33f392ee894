//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/nodeagent/helper"
)

func TestFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"help":             {[]string{"--help"}, exitOK, "--vendors"},
		"version":          {[]string{"--version"}, exitOK, ""},
		"nothing":          {nil, exitUsage, "--listen: name the socket"},
		"no vendor":        {[]string{"--listen=/x"}, exitUsage, "--vendors: name the vendors"},
		"unknown vendor":   {[]string{"--listen=/x", "--vendors=nvidia,acme"}, exitUsage, `--vendors: no tool of "acme" is known: take some of aws, `},
		"no root":          {[]string{"--listen=/x", "--vendors=nvidia", "--root=/no/such"}, exitUsage, `--root: "/no/such" is not a folder`},
		"an argument":      {[]string{"--listen=/x", "--vendors=nvidia", "serve"}, exitUsage, `unexpected argument "serve"`},
		"unknown level":    {[]string{"--listen=/x", "--vendors=nvidia", "-v=loud"}, exitUsage, `--log-level: "loud" is no level`},
		"unknown flag":     {[]string{"--privileged"}, exitUsage, "unknown flag"},
		"no socket folder": {[]string{"--listen=/no/such/socket", "--vendors=nvidia"}, exitFailure, "its folder has to exist"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), test.args, &stdout, &stderr); code != test.code || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, test.code, test.want, &stderr)
			}
		})
	}
}

// The helper runs tools of the host's file tree with that tree as their root, also where an earlier run left its socket behind.
func TestToolsAreTheHosts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("changing the root folder needs root")
	}
	root := t.TempDir()
	installShell(t, root)
	writeTool(t, filepath.Join(root, "usr", "bin", "neuron-ls"), "#!/bin/sh\necho \"$*\"; read -r line </etc/host-release; echo \"$line\"\n")
	writeTool(t, filepath.Join(root, "etc", "host-release"), "the host's\n")
	socket := filepath.Join(t.TempDir(), "s")
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan int, 1)
		var stderr bytes.Buffer
		go func() {
			ended <- run(ctx, []string{"--listen=" + socket, "--root=" + root, "--vendors=aws"}, &stderr, &stderr)
		}()
		client := helper.Dial(socket)
		result, err := client.Run(t.Context(), "neuron-ls", "-j")
		if err != nil || string(result.Stdout) != "-j\nthe host's\n" {
			t.Errorf("%q, %q, %v", result.Stdout, result.Stderr, err)
		}
		if _, err := client.Run(t.Context(), "nvidia-smi", "-L"); !errors.Is(err, helper.ErrRefused) {
			t.Errorf("a tool of a vendor that is not named: %v", err)
		}
		cancel()
		if code := <-ended; code != exitOK {
			t.Errorf("exit code %d:\n%s", code, &stderr)
		}
		if err := os.WriteFile(socket, nil, 0o600); err != nil { // as after a kill
			t.Fatal(err)
		}
	}
}

// installShell copies the shell into a file tree, with the libraries that it is linked against.
func installShell(t *testing.T, root string) {
	t.Helper()
	linked, err := exec.CommandContext(t.Context(), "ldd", "/bin/sh").Output()
	if err != nil {
		t.Skipf("which libraries the shell needs is not known: ldd: %v", err)
	}
	for _, name := range append(regexp.MustCompile(`/\S+`).FindAllString(string(linked), -1), "/bin/sh") {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		writeTool(t, filepath.Join(root, name), string(content))
	}
}

func writeTool(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // a test's
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
}
