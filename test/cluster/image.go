//go:build linux

package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pauseName is the image of pods' sandboxes.
const pauseName = "rankwright.dev/pause:local"

const pauseSource = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

// The first process of a pod's sandbox: it holds the namespaces and reaps orphans until it is told to end.
func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
`

// pauseImage builds the image of sandboxes and returns the archive.
func pauseImage(ctx context.Context, dir string) (string, error) {
	folder := filepath.Join(dir, "pause")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return "", err
	}
	for file, content := range map[string]string{"main.go": pauseSource, "go.mod": "module pause\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", "pause", ".")
	build.Dir, build.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		return "", &buildError{err, string(output)}
	}
	archive := filepath.Join(dir, "pause.tar")
	return archive, WriteImage(archive, pauseName, Image{
		Files: map[string]string{"/pause": filepath.Join(folder, "pause")}, Entrypoint: []string{"/pause"}, User: "65535:65535",
	})
}

type buildError struct {
	err    error
	output string
}

func (e *buildError) Error() string { return "go build: " + e.err.Error() + ": " + e.output }
func (e *buildError) Unwrap() error { return e.err }

// Image is what an image holds: files of this machine by their paths in it, all in one layer.
type Image struct {
	Files      map[string]string
	Entrypoint []string
	User       string
}

// WriteImage writes an image as an archive that container runtimes import.
func WriteImage(archive, reference string, image Image) error {
	layer, err := layerOf(image.Files)
	if err != nil {
		return err
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := built.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	config.Config = v1.Config{Entrypoint: image.Entrypoint, User: image.User, WorkingDir: "/"}
	if built, err = mutate.ConfigFile(built, config); err != nil {
		return err
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(archive, tag, built)
}
