package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tarred(t *testing.T, name string, mode int64) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	members := tar.NewWriter(compressed)
	err := members.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: 4})
	_, writing := members.Write([]byte("#!sh"))
	if err := errors.Join(err, writing, members.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func zipped(t *testing.T, name string) []byte {
	t.Helper()
	var packed bytes.Buffer
	members := zip.NewWriter(&packed)
	header := &zip.FileHeader{Name: name}
	header.SetMode(0o755)
	member, err := members.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	_, err = member.Write([]byte("#!sh"))
	if err := errors.Join(err, members.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

const manifestOf = `
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata: {name: rankwright}
spec:
  platforms:
  - {bin: kubectl-rankwright, uri: %s, sha256: %s, selector: {matchLabels: {os: linux, arch: arm64}}}
`

func TestInstallFollowsTheManifest(t *testing.T) {
	const program = "kubectl-rankwright"
	good := tarred(t, program, 0o755)
	for _, test := range []struct {
		name, uri, architecture string
		archive                 []byte
		sum, refused            string
	}{
		{name: "tar", uri: "a.tar.gz", archive: good},
		{name: "zip", uri: "a.zip", archive: zipped(t, program)},
		{name: "another sum", uri: "a.tar.gz", archive: good, sum: strings.Repeat("a", 64), refused: "and the manifest says aaa"},
		{name: "another platform", uri: "a.tar.gz", architecture: "amd64", archive: good, refused: "no archive for linux/amd64"},
		{name: "no program", uri: "a.tar.gz", archive: tarred(t, "other", 0o755), refused: "has no kubectl-rankwright"},
		{name: "not to be executed", uri: "a.tar.gz", archive: tarred(t, program, 0o644), refused: "may not be executed"},
		{name: "outside", uri: "a.tar.gz", archive: tarred(t, "../"+program, 0o755), refused: "outside"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.sum == "" {
				test.sum = fmt.Sprintf("%x", sha256.Sum256(test.archive))
			}
			if test.architecture == "" {
				test.architecture = "arm64"
			}
			manifest, err := ReadManifest(fmt.Appendf(nil, manifestOf, test.uri, test.sum))
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			installed, err := manifest.Install("linux", test.architecture, func(string) ([]byte, error) { return test.archive, nil }, folder)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("error %v: want one that says %q", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if content, err := os.ReadFile(installed); err != nil || string(content) != "#!sh" || filepath.Base(installed) != program {
				t.Errorf("%s: %q, %v", installed, content, err)
			}
		})
	}
}
