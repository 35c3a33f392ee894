package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing/fstest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is what an image holds: files and folders of this machine by their paths in it, all in one layer.
type Image struct {
	Files      map[string]string
	Entrypoint []string
	User       string
	Labels     map[string]string
	// Architecture is this machine's where it is empty.
	Architecture string
	// Created is when the sources were written, so that the same sources give the same image.
	Created time.Time
}

// Build packs the image.
func (i *Image) Build() (v1.Image, error) {
	layer, err := layerOf(i.Files)
	if err != nil {
		return nil, err
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := built.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", i.Architecture
	if i.Architecture == "" {
		config.Architecture = runtime.GOARCH
	}
	config.Created = v1.Time{Time: i.Created.UTC()}
	config.Config = v1.Config{Entrypoint: i.Entrypoint, User: i.User, WorkingDir: "/", Labels: i.Labels}
	return mutate.ConfigFile(built, config)
}

// Write writes the image as an archive that container runtimes import.
func (i *Image) Write(archive, reference string) error {
	built, err := i.Build()
	if err != nil {
		return err
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(archive, tag, built)
}

// layerOf packs files, with the folders above them, as root's and readable by all.
func layerOf(files map[string]string) (v1.Layer, error) {
	tree := fstest.MapFS{}
	for target, source := range files {
		if err := add(tree, strings.TrimPrefix(target, "/"), source); err != nil {
			return nil, fmt.Errorf("layer: %w", err)
		}
	}
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	if err := errors.Join(archive.AddFS(tree), archive.Close()); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil })
}

// add adds a file, or what is below a folder, to what is packed.
func add(tree fstest.MapFS, target, source string) error {
	return filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file) //nolint:gosec // named by who builds
		if err != nil {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		tree[path.Join(target, filepath.ToSlash(below))] = &fstest.MapFile{Data: content, Mode: info.Mode().Perm() | 0o444}
		return nil
	})
}
