//go:build unix

package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes a file tree on disk: a name ending in / is a folder, a content beginning with -> a link.
func tree(t *testing.T, entries map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range entries {
		place := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(content, "->"); isLink {
			err = os.Symlink(target, place)
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(place, 0o755)
		} else {
			err = os.WriteFile(place, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// linkedTree has every kind of link, and a file beside the tree that none may reach.
var linkedTree = map[string]string{
	"host/sys/devices/gpu/vendor":    "0x10de\n",
	"host/sys/bus/gpu":               "->../devices/gpu",
	"host/sys/class/absolute":        "->/sys/devices/gpu",
	"host/sys/class/out":             "->../../../../secret",
	"host/sys/class/far":             "->/../../secret",
	"host/sys/class/loop":            "->loop",
	"host/sys/class/ping":            "->pong",
	"host/sys/class/pong":            "->ping",
	"host/sys/class/dangling":        "->/nowhere",
	"host/sys/class/chain":           "->/sys/bus/gpu/./../gpu//vendor",
	"host/sys/devices/gpu/subsystem": "->../../bus",
	"host/dev/":                      "",
	"secret":                         "outside",
}

func TestFilesFollowLinksInsideTheTree(t *testing.T) {
	root := filepath.Join(tree(t, linkedTree), "host")
	live := &Host{Files: LiveFiles(root)}
	recorded, recording := Record(live)
	tests := []struct {
		name, want string
		err        error
	}{
		{name: "/sys/devices/gpu/vendor", want: "0x10de\n"},
		{name: "/sys/bus/gpu/vendor", want: "0x10de\n"},
		{name: "/sys/class/absolute/vendor", want: "0x10de\n"},
		{name: "/sys/class/chain", want: "0x10de\n"},
		{name: "/sys/devices/gpu/subsystem/gpu/vendor", want: "0x10de\n"},
		{name: "/../../sys/bus/gpu/vendor", want: "0x10de\n"},
		{name: "/sys/class/out", err: fs.ErrNotExist},
		{name: "/sys/class/far", err: fs.ErrNotExist},
		{name: "/../secret", err: fs.ErrNotExist},
		{name: "/sys/class/loop", err: errTooManyLinks},
		{name: "/sys/class/ping/vendor", err: errTooManyLinks},
		{name: "/sys/class/dangling", err: fs.ErrNotExist},
		{name: "/sys/devices/gpu/vendor/below", err: fs.ErrNotExist},
		{name: "/sys/bus", err: errNotRegular},
	}
	for _, files := range []Files{live.Files, recorded.Files, recording.Host().Files} {
		for _, test := range tests {
			data, err := files.ReadFile(test.name)
			if string(data) != test.want || !errors.Is(err, test.err) {
				t.Errorf("%T: ReadFile(%s) = %q, %v; want %q, %v", files, test.name, data, err, test.want, test.err)
			}
			if pathErr, ok := errors.AsType[*fs.PathError](err); err != nil && (!ok || pathErr.Path != test.name) {
				t.Errorf("%T: ReadFile(%s) fails with %v, which does not name the file inside the tree", files, test.name, err)
			}
		}
	}
}

func TestFilesListAndStat(t *testing.T) {
	root := filepath.Join(tree(t, linkedTree), "host")
	live := &Host{Files: LiveFiles(root)}
	recorded, recording := Record(live)
	for _, files := range []Files{live.Files, recorded.Files, recording.Host().Files} {
		names, err := files.ReadDir("/sys/class/absolute")
		if diff := cmp.Diff([]string{"subsystem", "vendor"}, names); diff != "" || err != nil {
			t.Errorf("%T: ReadDir: %v\n%s", files, err, diff)
		}
		if target, err := files.ReadLink("/sys/class/absolute/subsystem"); target != "../../bus" || err != nil {
			t.Errorf("%T: ReadLink = %q, %v", files, target, err)
		}
		if place, err := files.RealPath("/sys/class/absolute/subsystem"); place != "/sys/bus" || err != nil {
			t.Errorf("%T: RealPath = %q, %v", files, place, err)
		}
		if mode, err := files.Stat("/sys/bus/gpu"); !mode.IsDir() || err != nil {
			t.Errorf("%T: Stat = %v, %v", files, mode, err)
		}
		if _, err := files.ReadDir("/sys/devices/gpu/vendor"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%T: ReadDir of a file: %v", files, err)
		}
		if _, err := files.ReadLink("/sys/bus"); err == nil {
			t.Errorf("%T: ReadLink of a folder succeeds", files)
		}
	}
}

func TestLiveFilesRefuseWhatIsNoFile(t *testing.T) {
	root := tree(t, map[string]string{"large": strings.Repeat("x", maxFileSize+1), "full": strings.Repeat("x", maxFileSize)})
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := LiveFiles(root)
	for name, want := range map[string]error{"/large": ErrTooLarge, "/fifo": errNotRegular, "/full": nil} {
		if _, err := files.ReadFile(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func TestLiveHostNeedsItsRoot(t *testing.T) {
	root := tree(t, map[string]string{"file": ""})
	for _, missing := range []string{"absent", "file"} {
		if _, err := LiveHost(filepath.Join(root, missing), nil); err == nil {
			t.Errorf("%s is taken for a root", missing)
		}
	}
	if _, err := LiveHost(root, nil); err != nil {
		t.Error(err)
	}
}

// The whole tree is read without walking it; links are the system's then.
func TestFilesOfTheWholeTree(t *testing.T) {
	folder := tree(t, map[string]string{"a/file": "x", "absolute": "->/", "link": "->a/./file", "loop": "->loop"})
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := LiveFiles("/")
	for name, want := range map[string]error{"/a/file": nil, "/link": nil, "/loop": errTooManyLinks, "/a/file/x": fs.ErrNotExist, "/a": errNotRegular} {
		if data, err := files.ReadFile(folder + name); !errors.Is(err, want) || want == nil && string(data) != "x" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	place, err := files.RealPath(folder + "/absolute" + folder + "/link")
	if place != folder+"/a/file" || err != nil {
		t.Errorf("%s, %v", place, err)
	}
	if target, err := files.ReadLink(folder + "/absolute" + folder + "/link"); target != "a/./file" || err != nil {
		t.Errorf("%s, %v", target, err)
	}
	if mode, err := files.Stat(folder + "/link"); !mode.IsRegular() || err != nil {
		t.Errorf("%v, %v", mode, err)
	}
	if _, err := files.ReadFile("relative"); err == nil {
		t.Error("a relative name is read")
	}
}
