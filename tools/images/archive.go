package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// By these annotations of an OCI layout containerd and docker know the names of its images
// (https://github.com/opencontainers/image-spec/blob/main/annotations.md, containerd's images.AnnotationImageName).
const (
	annotationName  = "org.opencontainers.image.ref.name"
	annotationImage = "io.containerd.image.name"
)

// Index joins images of one name, each for an architecture of its own.
func Index(of []v1.Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range of {
		image = mutate.MediaType(mutate.ConfigMediaType(image, types.OCIConfigJSON), types.OCIManifestSchema1)
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: config.OS, Architecture: config.Architecture}},
		})
	}
	return index, nil
}

// WriteArchive writes an index as a tar archive of an OCI layout, which `ctr images import`, `podman load` and `skopeo copy
// oci-archive:` take. The same index gives the same bytes.
func WriteArchive(archive, reference string, index v1.ImageIndex) (err error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(archive), ".layout-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{annotationName: tag.TagStr(), annotationImage: tag.Name()})); err != nil {
		return err
	}
	return pack(archive, folder)
}

// pack writes what is in a folder as a tar archive without times and owners.
func pack(archive, folder string) (err error) {
	file, err := os.Create(archive) //nolint:gosec // named by who builds
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	packed := tar.NewWriter(file)
	for _, pattern := range []string{"oci-layout", "index.json", "blobs/*/*"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return err
		}
		slices.Sort(files)
		for _, file := range files {
			if err := packFile(packed, folder, file); err != nil {
				return fmt.Errorf("%s: %w", archive, err)
			}
		}
	}
	return packed.Close()
}

func packFile(packed *tar.Writer, folder, file string) error {
	content, err := os.ReadFile(file) //nolint:gosec // just written
	if err != nil {
		return err
	}
	below, err := filepath.Rel(folder, file)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: filepath.ToSlash(below), Mode: 0o644, Size: int64(len(content)), Format: tar.FormatUSTAR}
	if err := packed.WriteHeader(header); err != nil {
		return err
	}
	_, err = packed.Write(content)
	return err
}

// Open reads what WriteArchive wrote, and returns the index with its name. The archive is unpacked into a folder, which has to stay
// while the index is used.
func Open(archive, folder string) (index v1.ImageIndex, reference string, err error) {
	if err := unpack(archive, folder); err != nil {
		return nil, "", fmt.Errorf("%s: %w", archive, err)
	}
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, "", err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, "", err
	}
	if len(manifest.Manifests) != 1 {
		return nil, "", fmt.Errorf("%s: %d images: want one", archive, len(manifest.Manifests))
	}
	inner, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	return inner, manifest.Manifests[0].Annotations[annotationImage], err
}

func unpack(archive, folder string) error {
	file, err := os.Open(archive) //nolint:gosec // named by who builds
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for members := tar.NewReader(file); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("member %q lies outside of the archive", header.Name)
		}
		target := filepath.Join(folder, header.Name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // no secret
			return err
		}
		content, err := io.ReadAll(members)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil { //nolint:gosec // no secret
			return err
		}
	}
}

// For returns the image of an index for an architecture.
func For(index v1.ImageIndex, architecture string) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	of := match.Platforms(v1.Platform{OS: "linux", Architecture: architecture})
	for _, m := range manifest.Manifests {
		if of(m) {
			return index.Image(m.Digest)
		}
	}
	return nil, fmt.Errorf("no image for linux/%s", architecture)
}

// Push pushes an index to its name, and returns the name with the digest, by which it is signed.
func Push(index v1.ImageIndex, reference string, options []name.Option, how ...remote.Option) (string, error) {
	tag, err := name.NewTag(reference, options...)
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(tag, index, how...); err != nil {
		return "", err
	}
	digest, err := index.Digest()
	return tag.Context().Digest(digest.String()).Name(), err
}
