package images

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const reference = "example.com/rankwright/operator:v1"

// pair is an index of two architectures whose image has a program and a folder of licences.
func pair(t *testing.T) v1.ImageIndex {
	t.Helper()
	folder := t.TempDir()
	for file, mode := range map[string]os.FileMode{"program": 0o755, "licenses/LICENSE": 0o600} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(file), mode); err != nil {
			t.Fatal(err)
		}
	}
	var both []v1.Image
	for _, architecture := range []string{"amd64", "arm64"} {
		image := Image{
			Files:      map[string]string{"/bin/program": filepath.Join(folder, "program"), "/licenses": filepath.Join(folder, "licenses")},
			Entrypoint: []string{"/bin/program"}, User: "65532:65532", Labels: map[string]string{"a": "b"}, Architecture: architecture, Created: time.Unix(1, 0),
		}
		built, err := image.Build()
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, built)
	}
	index, err := Index(both)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// What is written is read again, is valid, is the same when it is made again, and can be pushed and pulled.
func TestArchive(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, "first.tar"), filepath.Join(folder, "second.tar")
	for _, archive := range []string{first, second} {
		if err := WriteArchive(archive, reference, pair(t)); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := read(t, first), read(t, second); !bytes.Equal(a, b) {
		t.Error("the same files give other bytes")
	}
	index, of, err := Open(first, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if of != reference {
		t.Errorf("it is named %s, want %s", of, reference)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	checkContent(t, index)

	server := httptest.NewServer(registry.New())
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/rankwright/operator:v1"
	pushed, err := Push(index, to, []name.Option{name.Insecure})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := name.NewDigest(pushed, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(digest)
	if err != nil {
		t.Fatal(err)
	}
	checkContent(t, pulled)
}

func checkContent(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	for _, architecture := range []string{"amd64", "arm64"} {
		image, err := For(index, architecture)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != architecture || config.OS != "linux" || config.Config.User != "65532:65532" || config.Config.Labels["a"] != "b" {
			t.Errorf("%s: configuration %+v", architecture, config)
		}
		files := mutate.Extract(image)
		content := map[string]string{}
		if err := eachFile(files, func(name, text string, mode int64) {
			content[name] = text
			if mode&0o444 != 0o444 {
				t.Errorf("%s: not all may read it: %o", name, mode)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if content["bin/program"] != "program" || content["licenses/LICENSE"] != "licenses/LICENSE" || len(content) != 2 {
			t.Errorf("%s: files %v", architecture, content)
		}
	}
	if _, err := For(index, "riscv64"); err == nil {
		t.Error("an image for an architecture that it was not made for")
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
