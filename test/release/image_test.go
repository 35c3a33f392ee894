package release

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/rankwright/rankwright/tools/images"
)

var elfMachines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func checkImage(t *testing.T, index v1.ImageIndex, name, architecture, version string) {
	t.Helper()
	image, err := images.For(index, architecture)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.Labels["org.opencontainers.image.version"] != version || config.Created.IsZero() {
		t.Errorf("%s: labels %v, created %s", name, config.Config.Labels, config.Created)
	}
	files := contents(t, image)
	for program, content := range files {
		if path.Dir(program) != "usr/local/bin" {
			continue
		}
		file, err := elf.NewFile(bytes.NewReader(content))
		if err != nil || file.Machine != elfMachines[architecture] {
			t.Errorf("%s for %s: %s is for %v, %v", name, architecture, program, file, err)
			continue
		}
		checkBill(t, string(files["sbom/"+path.Base(program)+".spdx.json"]), path.Base(program), version)
	}
	if files[strings.TrimPrefix(config.Config.Entrypoint[0], "/")] == nil || files["licenses/LICENSE"] == nil || files["licenses/THIRD-PARTY"] == nil {
		t.Errorf("%s for %s: it lacks its program or licences", name, architecture)
	}
}

// contents are the files of an image.
func contents(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	stream := mutate.Extract(image)
	defer func() { _ = stream.Close() }()
	files := map[string][]byte{}
	for members := tar.NewReader(stream); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(members); err != nil {
			t.Fatal(err)
		}
	}
}
