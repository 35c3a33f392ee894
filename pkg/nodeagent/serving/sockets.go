package serving

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rankwright/rankwright/internal/words"
)

// kubeletSocketName is the base name of pluginapi.KubeletSocket, in the folder of device plugins.
const kubeletSocketName = "kubelet.sock"

// maxSocketName leaves room for the folder: the kernel takes paths of at most 107 bytes (sun_path of unix(7)), and
// /var/lib/kubelet/device-plugins/ has 32.
const maxSocketName = 64

// socketName returns the name of a resource's socket. It never changes, so that an agent finds and replaces what the agent
// before it left, and no two resources share one.
func socketName(resource string) string {
	const prefix, suffix = "rankwright-", ".sock"
	name := strings.ReplaceAll(resource, "/", "_")
	if room := maxSocketName - len(prefix) - len(suffix); len(name) > room {
		mark := "-" + words.Digest(resource, 16)
		name = name[:room-len(mark)] + mark
	}
	return prefix + name + suffix
}

// listens says whether somebody listens at a socket, and whether there is one at all.
func listens(path string) (answers, left bool) {
	connection, err := net.DialTimeout("unix", path, time.Second) //nolint:noctx // a socket of this machine answers at once
	if err == nil {
		_ = connection.Close()
	}
	return err == nil, !errors.Is(err, fs.ErrNotExist)
}

// kubelet is one life of the kubelet, by the socket that it made; the zero value stands for no kubelet.
type kubelet struct {
	info fs.FileInfo
}

// findKubelet looks for the kubelet's socket in the folder; the zero value where there is none, or it cannot be seen.
func findKubelet(folder string) kubelet {
	info, err := os.Lstat(filepath.Join(folder, kubeletSocketName))
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return kubelet{}
	}
	return kubelet{info}
}

func (k kubelet) there() bool { return k.info != nil }

// since is when the kubelet started: when it made the socket.
func (k kubelet) since() time.Time {
	if k.info == nil {
		return time.Time{}
	}
	return k.info.ModTime()
}

// same says whether both are one life. An inode may be given out again, so the time counts, too.
func (k kubelet) same(other kubelet) bool {
	if !k.there() || !other.there() {
		return k.there() == other.there()
	}
	return os.SameFile(k.info, other.info) && k.info.ModTime().Equal(other.info.ModTime())
}
