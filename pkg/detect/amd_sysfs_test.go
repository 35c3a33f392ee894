package detect

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// sysfs composes a host's file tree: the devices, and the links by which the kernel's classes and buses reach them.
type sysfs struct {
	t *testing.T
	*host.Recording
}

func newSysfs(t *testing.T) sysfs {
	s := sysfs{t, host.NewRecording()}
	s.folder("/sys/bus/pci/devices")
	s.file("/proc/sys/kernel/osrelease", "6.8.0-60-generic\n")
	return s
}

func (s sysfs) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s sysfs) file(name, content string) { s.t.Helper(); s.must(s.AddFile(name, content)) }
func (s sysfs) folder(name string)        { s.t.Helper(); s.must(s.AddFolder(name)) }
func (s sysfs) link(name, target string)  { s.t.Helper(); s.must(s.AddLink(name, target)) }

// attributes are files of a device, by their names in its folder.
type attributes map[string]string

// pci adds a function at `pci0000:00/0000:00:01.0/0000:03:00.0` below /sys/devices and returns its folder; driver is ""
// where none is bound.
func (s sysfs) pci(place, driver string, files ...attributes) string {
	s.t.Helper()
	folder := path.Join("/sys/devices", place)
	all := attributes{}
	for _, some := range files {
		maps.Copy(all, some)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s.file(path.Join(folder, name), all[name]+"\n")
	}
	s.link(path.Join(pciDevices, path.Base(place)), folder)
	if driver != "" {
		s.folder("/sys/bus/pci/drivers/" + driver)
		s.link(path.Join(folder, "driver"), "/sys/bus/pci/drivers/"+driver)
	}
	return folder
}

// drm adds a node of the DRM class (`card0`, `renderD128`) of the device at the folder.
func (s sysfs) drm(folder string, names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.link(path.Join(folder, "drm", name, "device"), folder)
		s.link(path.Join(drmClass, name), path.Join(folder, "drm", name))
	}
}

// kfdNode adds a node of the KFD topology with its links, each in the kernel's form of `name value` lines.
func (s sysfs) kfdNode(number int, properties string, links ...string) {
	s.t.Helper()
	dir := path.Join(kfdNodes, fmt.Sprint(number))
	s.file(path.Join(dir, "properties"), properties)
	for i, link := range links {
		s.file(path.Join(dir, "io_links", fmt.Sprint(i), "properties"), link)
	}
}

func (s sysfs) detect(backend Backend) Found {
	s.t.Helper()
	return detectOn(s.t, s.Host(), backend)
}

func detectOn(t *testing.T, h *host.Host, backend Backend) Found {
	t.Helper()
	found, err := backend.Detect(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// amdID are the files by which a function is an AMD GPU.
func amdID(device, class string) attributes {
	return attributes{"vendor": "0x1002", "device": "0x" + device, "class": "0x" + class, "revision": "0x00"}
}

// vram are amdgpu's files about memory.
func vram(totalMiB, usedMiB int64) attributes {
	return attributes{"mem_info_vram_total": fmt.Sprint(totalMiB << 20), "mem_info_vram_used": fmt.Sprint(usedMiB << 20)}
}

// mi300x is a whole MI300X as amdgpu shows it, in a hive of eight.
func mi300x() attributes {
	return merge(amdID("74a1", "120000"), vram(196592, 283), attributes{
		"product_name": "AMD Instinct MI300X OAM", "current_compute_partition": "SPX", "current_memory_partition": "NPS1",
		"xgmi_hive_info/xgmi_hive_id": "15188982192727901047", "numa_node": "0",
	})
}

func merge(all ...attributes) attributes {
	merged := attributes{}
	for _, some := range all {
		maps.Copy(merged, some)
	}
	return merged
}

// capture returns the files of a tar.gz of the captures, by their names in it.
func capture(t *testing.T, name string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for reader := tar.NewReader(bytes.NewReader(facts.Read(t, "captures/"+name))); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		var content bytes.Buffer
		if _, err := io.Copy(&content, reader); err != nil {
			t.Fatal(err)
		}
		files[header.Name] = content.String()
	}
}

// place puts the captured files below a prefix at a folder of the tree.
func (s sysfs) place(files map[string]string, prefix, folder string) {
	s.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			s.file(path.Join(folder, rest), files[name])
		}
	}
}
