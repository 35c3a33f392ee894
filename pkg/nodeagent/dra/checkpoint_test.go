package dra

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/nodeagent/disk"
)

func TestBookIsThereForTheNextAgent(t *testing.T) {
	folder := t.TempDir()
	c := openedIn(t, folder)
	if len(c.book) != 0 {
		t.Errorf("a new node has prepared claims: %v", c.book)
	}
	want := book{"uid-1": {Namespace: "models", Name: "llama", Devices: []recorded{{ID: gpuID(1), Name: gpuName(1)}, {ID: gpuID(2), Name: gpuName(2), AdminAccess: true}}}}
	if err := c.keep(want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, openedIn(t, folder).book); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A record that nobody can read does not keep the driver from serving, and is there for people.
func TestUnreadableBookIsSetAside(t *testing.T) {
	for name, content := range map[string]string{"no JSON": "{", "nothing": "", "of another version": `{"version":9,"claims":{}}`} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, checkpointName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c := openedIn(t, folder)
		if aside, err := os.ReadFile(c.path + ".unreadable"); err != nil || string(aside) != content || len(c.book) != 0 {
			t.Errorf("%s: %q is set aside, %v, %v", name, aside, err, c.book)
		}
		if err := c.keep(book{"uid-1": {}}); err != nil || len(openedIn(t, folder).book) != 1 {
			t.Errorf("%s: it is not written anew: %v", name, err)
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{ disk.Node }

var errFull = errors.New("no space left on device")

func (fullDisk) Write(string, []byte, fs.FileMode) error { return errFull }

// A claim that cannot be noted is not prepared: the kubelet asks again.
func TestNoClaimIsPreparedWithoutARecord(t *testing.T) {
	h, folder := newHandler(t, wantedOf(statusOf(gpu(1))))
	h.checkpoint.disk = fullDisk{}
	if _, err := h.prepare(t.Context(), claimOf(resultFor("a", 1))); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 || len(h.checkpoint.book) > 0 {
		t.Errorf("%v, %v, %v", files, err, h.checkpoint.book)
	}
}
