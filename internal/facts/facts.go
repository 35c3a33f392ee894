// Package facts gives tests the facts from outside that they hold the code to: published tables in truth/ and captures of real
// hosts in captures/. They are no part of the repository, so that a test is skipped, with the reason, where they are absent.
package facts

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
)

// FolderEnv names the variable that overrides the folder of the facts.
const FolderEnv = "RANKWRIGHT_SHARED"

// Folder returns the path of the folder of the facts: what RANKWRIGHT_SHARED says, else the folder shared beside the
// repository. The folder may be absent.
func Folder() (string, error) {
	if folder := os.Getenv(FolderEnv); folder != "" {
		return folder, nil
	}
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "..", "shared"), nil
}

// Read returns the content of a file of the facts, by its path in their folder; a .gz is unpacked. It skips the test where the
// file is absent.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	content := ReadPacked(t, name)
	if !strings.HasSuffix(name, ".gz") {
		return content
	}
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err == nil {
		content, err = io.ReadAll(packed)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return content
}

// ReadPacked returns the content of a file of the facts as it lies there. It skips the test where the file is absent.
func ReadPacked(t testing.TB, name string) []byte {
	t.Helper()
	folder, err := Folder()
	if err != nil {
		t.Skipf("the facts are not found: %v; or set %s", err, FolderEnv)
	}
	content, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%v: set %s to the folder that has %s", err, FolderEnv, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Decode reads a file as Read does, and decodes it as JSON.
func Decode(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
