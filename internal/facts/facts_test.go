package facts

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
)

func TestFolder(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]string{"/elsewhere": "/elsewhere", "": filepath.Join(filepath.Dir(root), "shared")} {
		t.Setenv(FolderEnv, set)
		if got, err := Folder(); err != nil || got != want {
			t.Errorf("%s=%q: %q, %v, want %q", FolderEnv, set, got, err, want)
		}
	}
}

func TestDecodeReadsPlainAndPackedFiles(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(FolderEnv, folder)
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(`{"layers": 80}`))
	if err != nil || writer.Close() != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "truth"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"truth/plain.json": []byte(`{"layers": 80}`), "truth/packed.json.gz": packed.Bytes()} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		var got struct{ Layers int }
		Decode(t, name, &got)
		if got.Layers != 80 {
			t.Errorf("%s: %d layers, want 80", name, got.Layers)
		}
	}
}

func TestAbsentFactsSkip(t *testing.T) {
	t.Setenv(FolderEnv, t.TempDir())
	skipped := false
	t.Run("absent", func(t *testing.T) {
		t.Cleanup(func() { skipped = t.Skipped() })
		Read(t, "truth/models.json")
	})
	if !skipped {
		t.Error("a test that asks for absent facts is not skipped")
	}
}
