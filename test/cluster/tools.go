//go:build linux

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/internal/repository"
)

// Where a played host has what its driver's package installs.
const (
	toolFolder    = "usr/bin"
	libraryFolder = "usr/lib/x86_64-linux-gnu"
)

// program is a program of this repository that nodes run, built once for all clusters of a process.
type program struct {
	sync.Once
	content []byte
	err     error
}

// player plays tools; nvidiaRuntime plays NVIDIA's container runtime; pause holds sandboxes.
var player, nvidiaRuntime, pause program

// build returns the program that a package of folder test is.
func (p *program) build(ctx context.Context, name string) ([]byte, error) {
	p.Do(func() {
		var folder string
		if folder, p.err = os.MkdirTemp("", "rankwright-program-"); p.err != nil {
			return
		}
		defer func() { _ = os.RemoveAll(folder) }()
		binary := filepath.Join(folder, "program")
		if p.err = repository.Build(ctx, binary, "test/"+name); p.err == nil {
			p.content, p.err = os.ReadFile(binary) //nolint:gosec // just built
		}
	})
	return p.content, p.err
}

// installTools gives the played host tools that print what they printed on the recorded one, and NVIDIA's library where
// the recording has what that told. The lines are a recording's commands.jsonl.
func (n *Node) installTools(ctx context.Context, lines []byte) error {
	installed := map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(lines)); ; {
		var command struct {
			Argv   []string
			Stdout string
		}
		if err := decoder.Decode(&command); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("commands.jsonl: %w", err)
		}
		tool := command.Argv[0]
		if installed[tool] {
			continue
		}
		installed[tool] = true
		install := n.installTool
		if tool == "rankwright-nvml" {
			install = func(ctx context.Context, _ string) error { return n.installLibrary(ctx, []byte(command.Stdout)) }
		}
		if err := install(ctx, tool); err != nil {
			return fmt.Errorf("%s: install %s: %w", n.Name, tool, err)
		}
	}
	return n.WriteHostFile("var/lib/player/commands.jsonl", lines, 0o644)
}

func (n *Node) installTool(ctx context.Context, tool string) error {
	content, err := player.build(ctx, "player")
	if err != nil {
		return err
	}
	return n.WriteHostFile(filepath.Join(toolFolder, tool), content, 0o755)
}

func (n *Node) installLibrary(ctx context.Context, document []byte) error {
	told, err := report.Parse(document)
	if err != nil {
		return err
	}
	if err := n.InstallDriver(ctx, told.DriverVersion); err != nil {
		return err
	}
	return nvmltest.FactsOf(told).Write(n.Library())
}

// Library returns the folder, as this process sees it, of the played host's libnvidia-ml.so.1 and of the facts that it tells.
func (n *Node) Library() string { return filepath.Join(n.Host(), libraryFolder) }

// InstallDriver installs NVIDIA's library of a version, as a driver's package does, in place of the library that was there.
// The version of the kernel's driver does not change: it is one of the library's facts.
func (n *Node) InstallDriver(ctx context.Context, version string) error {
	if err := n.RemoveDriver(); err != nil {
		return err
	}
	if err := os.MkdirAll(n.Library(), 0o755); err != nil { //nolint:gosec // a host's folder
		return err
	}
	versioned := "libnvidia-ml.so." + version
	if err := nvmltest.Compile(ctx, n.Library(), versioned); err != nil {
		return err
	}
	return os.Symlink(versioned, filepath.Join(n.Library(), nvmltest.Name))
}

// RemoveDriver removes NVIDIA's library. Its facts stay.
func (n *Node) RemoveDriver() error {
	installed, err := filepath.Glob(filepath.Join(n.Library(), "libnvidia-ml.so.*"))
	for _, name := range installed {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// WriteHostFile writes a file of the played host, whose path is from its root folder.
func (n *Node) WriteHostFile(name string, content []byte, mode os.FileMode) error {
	name = filepath.Join(n.Host(), name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // pods of other users read it
		return err
	}
	return os.WriteFile(name, content, mode)
}
