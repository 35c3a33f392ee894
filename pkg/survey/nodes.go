package survey

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// node is a device node.
type node struct {
	path string
	mode fs.FileMode
	// owner is nil where it is not known.
	owner *host.Owner
}

// nodeFolders are where the nodes of accelerators and fabrics are.
var nodeFolders = []string{
	"/dev", "/dev/accel", "/dev/dri", "/dev/infiniband", "/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels", "/dev/rngd",
	"/dev/tenstorrent", "/dev/vfio",
}

// nodeNames are the names in /dev itself; in the other folders all are of interest.
var nodeNames = regexp.MustCompile(`^(nvidia|nvhost|nvmap|nvgpu|kfd$|accel\d|neuron|davinci|hisi_hdc|devmm_svm|hailo|h1x|npu|ipu\d|groq|apusys|` +
	`vertex\d|mali|dxg$|qaic|cambricon|iluvatar|mxcd|mxgvm|hygon|gdrdrv|knem|xpmem)`)

func nodes(files host.Files) []node {
	var found []node
	for _, folder := range nodeFolders {
		names, err := files.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, name := range names {
			if folder == "/dev" && !nodeNames.MatchString(name) {
				continue
			}
			place := path.Join(folder, name)
			mode, err := files.Stat(place)
			if err != nil || mode.IsDir() {
				continue
			}
			one := node{path: place, mode: mode}
			if owner, err := host.OwnerOf(files, place); err == nil {
				one.owner = &owner
			}
			found = append(found, one)
		}
	}
	return found
}

// String returns a line such as `crw-rw---- 0:44 226:128 /dev/dri/renderD128`: mode, owner's UID and GID, device number, path.
func (n node) String() string {
	owner := "?:? ?:?"
	if n.owner != nil {
		owner = fmt.Sprintf("%d:%d %d:%d", n.owner.UID, n.owner.GID, n.owner.Major, n.owner.Minor)
	}
	kind := "-"
	if n.mode&fs.ModeCharDevice != 0 {
		kind = "c"
	}
	return fmt.Sprintf("%s%s %s %s", kind, n.mode.Perm().String()[1:], owner, n.path)
}
