package detect

import (
	"fmt"
	"path"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

const drmClass = "/sys/class/drm"

// drmNodes are the device nodes by which user space reaches one GPU, by their minor numbers in /dev/dri, in order.
type drmNodes struct {
	cards   []int
	renders []int
}

// drmTable says which device nodes belong to which device, by the device's folder in sysfs: neither the order nor the
// number of a card says where it sits.
type drmTable struct {
	byFolder       map[string]drmNodes
	folderOfRender map[int]string
}

// readDRM reads /sys/class/drm. A node whose device cannot be found (it went away) is left out.
func readDRM(files host.Files) (drmTable, error) {
	table := drmTable{byFolder: map[string]drmNodes{}, folderOfRender: map[int]string{}}
	for _, kind := range []struct {
		prefix string
		list   func(*drmNodes) *[]int
	}{
		{"card", func(n *drmNodes) *[]int { return &n.cards }},
		{"renderD", func(n *drmNodes) *[]int { return &n.renders }},
	} {
		numbers, err := host.ReadNumbered(files, drmClass, kind.prefix)
		if err != nil {
			return table, err
		}
		for _, number := range numbers {
			folder, err := files.RealPath(path.Join(drmClass, fmt.Sprint(kind.prefix, number), "device"))
			if err != nil {
				continue
			}
			nodes := table.byFolder[folder]
			list := kind.list(&nodes)
			*list = append(*list, number)
			table.byFolder[folder] = nodes
			if kind.prefix == "renderD" {
				table.folderOfRender[number] = folder
			}
		}
	}
	return table, nil
}

// ofRender returns all nodes of the device that has the render node.
func (t drmTable) ofRender(minor int) drmNodes {
	folder, ok := t.folderOfRender[minor]
	if !ok {
		return drmNodes{renders: []int{minor}}
	}
	return t.byFolder[folder]
}

// paths are the names under /dev, render nodes first.
func (n drmNodes) paths() []string {
	var paths []string
	for _, minor := range n.renders {
		paths = append(paths, fmt.Sprint("/dev/dri/renderD", minor))
	}
	for _, minor := range n.cards {
		paths = append(paths, fmt.Sprint("/dev/dri/card", minor))
	}
	return paths
}
