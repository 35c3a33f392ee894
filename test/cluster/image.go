//go:build linux

package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pauseName is the image of pods' sandboxes.
const pauseName = "rankwright.dev/pause:local"

// pauseImage builds the image of sandboxes and returns the archive.
func pauseImage(ctx context.Context, dir string) (string, error) {
	content, err := pause.build(ctx, "cluster/pause")
	if err != nil {
		return "", err
	}
	program, archive := filepath.Join(dir, "pause"), filepath.Join(dir, "pause.tar")
	if err := os.WriteFile(program, content, 0o755); err != nil { //nolint:gosec // a program
		return "", err
	}
	return archive, WriteImage(archive, pauseName, Image{Files: map[string]string{"/pause": program}, Entrypoint: []string{"/pause"}, User: "65535:65535"})
}

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
	config.OS, config.Architecture = runtime.GOOS, runtime.GOARCH
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

// layerOf packs files, with the folders above them, as root's and readable by all. The same files give the same bytes.
func layerOf(files map[string]string) (v1.Layer, error) {
	tree := fstest.MapFS{}
	for target, source := range files {
		content, err := os.ReadFile(source) //nolint:gosec // a test's own
		if err != nil {
			return nil, fmt.Errorf("layer: %w", err)
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, fmt.Errorf("layer: %w", err)
		}
		tree[strings.TrimPrefix(target, "/")] = &fstest.MapFile{Data: content, Mode: info.Mode().Perm() | 0o444}
	}
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	if err := errors.Join(archive.AddFS(tree), archive.Close()); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil })
}
