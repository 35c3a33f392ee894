//go:build linux

package cluster

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const architecture = runtime.GOARCH

// layerOf packs files, with the folders above them, as root's and readable by all. The same files give the same bytes.
func layerOf(files map[string]string) (v1.Layer, error) {
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	written := map[string]bool{".": true, "/": true}
	for _, target := range slices.Sorted(maps.Keys(files)) {
		if err := addFolders(archive, path.Dir(target), written); err != nil {
			return nil, err
		}
		if err := addFile(archive, target, files[target]); err != nil {
			return nil, fmt.Errorf("layer: %s: %w", target, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil })
}

func addFolders(archive *tar.Writer, folder string, written map[string]bool) error {
	if written[folder] {
		return nil
	}
	if err := addFolders(archive, path.Dir(folder), written); err != nil {
		return err
	}
	written[folder] = true
	return archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeDir, Name: strings.TrimPrefix(folder, "/") + "/", Mode: 0o755, ModTime: time.Unix(0, 0),
	})
}

func addFile(archive *tar.Writer, target, source string) error {
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: strings.TrimPrefix(target, "/"), Mode: int64(info.Mode().Perm() | 0o444), Size: info.Size(),
		ModTime: time.Unix(0, 0),
	}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}
