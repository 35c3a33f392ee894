package sysfs

import (
	"fmt"
	"path"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

const drmClass = "/sys/class/drm"

// DRMNodes are the device nodes by which user space reaches one GPU, by their minor numbers in /dev/dri, in order.
type DRMNodes struct {
	Cards   []int
	Renders []int
}

// DRM says which device nodes belong to which device, by the device's folder in sysfs: neither the order nor the
// number of a card says where it sits.
type DRM struct {
	ByFolder       map[string]DRMNodes
	FolderOfRender map[int]string
}

// ReadDRM reads /sys/class/drm. A node whose device cannot be found (it went away) is left out.
func ReadDRM(files host.Files) (DRM, error) {
	table := DRM{ByFolder: map[string]DRMNodes{}, FolderOfRender: map[int]string{}}
	for _, kind := range []string{"card", "renderD"} {
		numbers, err := host.ReadNumbered(files, drmClass, kind)
		if err != nil {
			return table, err
		}
		for _, number := range numbers {
			folder, err := files.RealPath(path.Join(drmClass, fmt.Sprint(kind, number), "device"))
			if err != nil {
				continue
			}
			nodes := table.ByFolder[folder]
			if kind == "card" {
				nodes.Cards = append(nodes.Cards, number)
			} else {
				nodes.Renders = append(nodes.Renders, number)
				table.FolderOfRender[number] = folder
			}
			table.ByFolder[folder] = nodes
		}
	}
	return table, nil
}

// OfRender returns all nodes of the device that has the render node.
func (t DRM) OfRender(minor int) DRMNodes {
	folder, ok := t.FolderOfRender[minor]
	if !ok {
		return DRMNodes{Renders: []int{minor}}
	}
	return t.ByFolder[folder]
}

// Paths returns the nodes' names under /dev, render nodes first.
func (n DRMNodes) Paths() []string {
	var paths []string
	for _, minor := range n.Renders {
		paths = append(paths, fmt.Sprint("/dev/dri/renderD", minor))
	}
	for _, minor := range n.Cards {
		paths = append(paths, fmt.Sprint("/dev/dri/card", minor))
	}
	return paths
}
