// Package release holds what a release consists of to what its users are told: its tests look at dist/, which `make release-dry-run`
// makes.
package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Manifest is a plugin's manifest as krew reads it (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
type Manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version   string     `json:"version"`
		Platforms []Platform `json:"platforms"`
	} `json:"spec"`
}

// Platform is an archive and where it belongs.
type Platform struct {
	URI      string `json:"uri"`
	SHA256   string `json:"sha256"`
	Bin      string `json:"bin"`
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
}

// ReadManifest reads a manifest.
func ReadManifest(text []byte) (*Manifest, error) {
	manifest := &Manifest{}
	if err := yaml.Unmarshal(text, manifest); err != nil {
		return nil, fmt.Errorf("manifest of krew: %w", err)
	}
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" {
		return nil, fmt.Errorf("manifest of krew: %s %s: want a Plugin", manifest.APIVersion, manifest.Kind)
	}
	return manifest, nil
}

// Install does what krew does with a manifest: it fetches the archive for the platform, checks its sum, unpacks it into a folder, and returns
// the program that kubectl finds by the plugin's name.
func (m *Manifest) Install(operatingSystem, architecture string, fetch func(uri string) ([]byte, error), folder string) (program string, err error) {
	at := slices.IndexFunc(m.Spec.Platforms, func(p Platform) bool {
		labels := p.Selector.MatchLabels
		return labels["os"] == operatingSystem && labels["arch"] == architecture
	})
	if at < 0 {
		return "", fmt.Errorf("plugin %s: no archive for %s/%s", m.Metadata.Name, operatingSystem, architecture)
	}
	platform := m.Spec.Platforms[at]
	archive, err := fetch(platform.URI)
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != platform.SHA256 {
		return "", fmt.Errorf("%s: its SHA-256 is %x, and the manifest says %s", platform.URI, sum, platform.SHA256)
	}
	unpack := unpackTar
	if strings.HasSuffix(platform.URI, ".zip") {
		unpack = unpackZip
	}
	if err := unpack(archive, folder); err != nil {
		return "", fmt.Errorf("%s: %w", platform.URI, err)
	}
	program = filepath.Join(folder, filepath.FromSlash(platform.Bin))
	info, err := os.Stat(program)
	if err != nil {
		return "", fmt.Errorf("%s has no %s: %w", platform.URI, platform.Bin, err)
	}
	if info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s: %s may not be executed", platform.URI, platform.Bin)
	}
	return program, nil
}

func unpackTar(archive []byte, folder string) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	for members := tar.NewReader(unzipped); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := put(folder, header.Name, header.FileInfo().Mode(), members); err != nil {
			return err
		}
	}
}

func unpackZip(archive []byte, folder string) error {
	members, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	for _, member := range members.File {
		content, err := member.Open()
		if err != nil {
			return err
		}
		err = errors.Join(put(folder, member.Name, member.Mode(), content), content.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes a member of an archive below a folder.
func put(folder, name string, mode os.FileMode, content io.Reader) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("member %q lies outside of the archive", name)
	}
	target := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // no secret
		return err
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return os.WriteFile(target, text, mode.Perm())
}

// FromFolder fetches what an address names from a folder, as a release's page would give it.
func FromFolder(folder string) func(uri string) ([]byte, error) {
	return func(uri string) ([]byte, error) {
		const page = "https://github.com/rankwright/rankwright/releases/download/"
		if !strings.HasPrefix(uri, page) {
			return nil, fmt.Errorf("%s: want an address below %s", uri, page)
		}
		return os.ReadFile(filepath.Join(folder, filepath.Base(uri))) //nolint:gosec // of the release
	}
}
