//go:build unix

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// trees are the ways to look below a folder: this system's best, and the one that works everywhere.
func trees(t *testing.T, root string) map[string]Files {
	t.Helper()
	opened, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Files{"everywhere": treeFiles{liveTree{rootTree{opened}}}, "best": LiveFiles(root)}
	if _, ok := found["best"].(treeFiles).fileTree.(liveTree).systemCalls.(rootTree); ok {
		t.Log("this kernel, or the sandbox around it, has no openat2: both ways are the same one")
	}
	return found
}

func TestTreesAgree(t *testing.T) {
	root := filepath.Join(tree(t, linkedTree), "host")
	if err := syscall.Mkfifo(filepath.Join(root, "dev", "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{
		"/", "/sys", "/sys/bus/gpu", "/sys/bus/gpu/vendor", "/sys/class/absolute/vendor", "/sys/class/chain", "/sys/class/out", "/sys/class/far",
		"/sys/class/loop", "/sys/class/ping/vendor", "/sys/class/dangling", "/../../sys/bus/gpu/vendor", "/sys/devices/gpu/vendor/below",
		"/dev/fifo", "/absent", "relative", "", "/sys/class/absolute/subsystem/gpu/./../gpu//vendor", "/sys/class/absolute/", "/sys/bus/gpu/..",
	}
	try := func(files Files, name string) string {
		data, readErr := files.ReadFile(name)
		listed, dirErr := files.ReadDir(name)
		mode, statErr := files.Stat(name)
		real, realErr := files.RealPath(name)
		return fmt.Sprintf("%q %v\n%v %v\n%v %v\n%s %v", data, readErr, listed, dirErr, mode, statErr, real, realErr)
	}
	all := trees(t, root)
	for _, name := range names {
		if a, b := try(all["best"], name), try(all["everywhere"], name); a != b {
			t.Errorf("%q: the best way gives\n%s\nthe other\n%s", name, a, b)
		}
	}
	for name, want := range map[string]string{"/sys/class/out": "../../../../secret", "/sys/class/absolute/subsystem": "../../bus", "/sys/bus": "", "/absent": ""} {
		for way, files := range all {
			if target, err := files.ReadLink(name); target != want || (want == "") != (err != nil) {
				t.Errorf("%s: ReadLink(%s) = %q, %v", way, name, target, err)
			}
		}
	}
}

// A container that owns a folder in the tree can change a link while it is followed. Nothing outside may be read then.
func TestTreeWhileLinksAreSwapped(t *testing.T) {
	base := tree(t, map[string]string{"host/sys/real/file": "inside", "secret/file": "outside"})
	root, secret := filepath.Join(base, "host"), filepath.Join(base, "secret")
	for way, files := range trees(t, root) {
		t.Run(way, func(t *testing.T) {
			swapped := filepath.Join(root, "sys", "swapped")
			if err := os.RemoveAll(swapped); err != nil {
				t.Fatal(err)
			}
			var stop atomic.Bool
			var swapping sync.WaitGroup
			swapping.Go(func() {
				for i := 0; !stop.Load(); i++ {
					target := []string{"real", secret, "../../secret", "../../../../../../../.." + secret}[i%4]
					other := swapped + ".new"
					_ = os.Symlink(target, other)
					_ = os.Rename(other, swapped)
				}
			})
			defer swapping.Wait()
			defer stop.Store(true)
			seen := 0
			for i := 0; i < 20_000 && (i < 2000 || seen == 0); i++ {
				data, err := files.ReadFile("/sys/swapped/file")
				if string(data) == "outside" {
					t.Fatal("a file outside the tree was read")
				}
				if err == nil {
					seen++
				}
				if names, _ := files.ReadDir("/sys/swapped/.."); len(names) > 0 && names[0] == "host" {
					t.Fatal("a folder outside the tree was listed")
				}
			}
			if seen == 0 {
				t.Error("the file inside was never read: the test tests nothing")
			}
		})
	}
}

func TestFolderOfTooManyNames(t *testing.T) {
	root := tree(t, map[string]string{"a": "", "b": "", "c": ""})
	for limit, want := range map[int]error{2: ErrTooLarge, 3: nil, 4: nil} {
		folder, err := os.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := namesIn(folder, limit); !errors.Is(err, want) || want == nil && len(names) != 3 {
			t.Errorf("at most %d: %v, %v", limit, names, err)
		}
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTreeThatIsNotThere(t *testing.T) {
	files := LiveFiles(filepath.Join(t.TempDir(), "absent"))
	_, err := files.ReadFile("/proc/cpuinfo")
	_, err2 := files.ReadDir("/")
	_, err3 := files.ReadLink("/x")
	_, err4 := files.Stat("/")
	for _, err := range []error{err, err2, err3, err4} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/") {
			t.Errorf("%v", err)
		}
	}
}

func BenchmarkReadFileBelowAFolder(b *testing.B) {
	root := b.TempDir()
	folder := filepath.Join(root, "sys", "devices", "pci0000:16", "0000:16:01.0", "0000:17:00.0")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "vendor"), []byte("0x10de\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		b.Fatal(err)
	}
	const name = "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/vendor"
	for way, test := range map[string]struct {
		files Files
		name  string
	}{"best": {LiveFiles(root), name}, "everywhere": {treeFiles{liveTree{rootTree{opened}}}, name}, "system": {LiveFiles("/"), root + name}} {
		b.Run(way, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := test.files.ReadFile(test.name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
