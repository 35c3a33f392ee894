package checkpoint

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// preferred are the formats of weights in the order of preference: publishers keep weights in older formats beside newer
// ones.
var preferred = []Format{Safetensors, GGUF, PyTorch, legacy, ONNX}

// maxEntries is how many files of a folder are looked at.
const maxEntries = 1 << 14

// openFolder reads the weights that the folder's index names, else the files of the first preferred format. Folders
// within are ignored: some publishers keep a second copy of the weights there.
func (r *reader) openFolder(name string) (*Checkpoint, error) {
	byKind, indexes, err := r.list()
	if err != nil {
		return nil, err
	}
	c, err := r.choose(name, byKind, indexes)
	if err != nil || c == nil {
		return nil, cmp.Or(err, fmt.Errorf("%s holds no model: give a folder with safetensors, GGUF, ONNX or PyTorch files or a config.json", name))
	}
	if left := leftOut(byKind, c); len(left) > 0 {
		c.warn("left out, since the %s files are taken: %s", c.Format, few(left))
	}
	return c, nil
}

// list recognises the files of the folder. Only an index is known by its name, which its writer fixes: other JSON may be
// large and is of no use.
func (r *reader) list() (byKind map[Format][]string, indexes []string, err error) {
	entries, err := fs.ReadDir(r.fsys, r.folder)
	if err != nil {
		return nil, nil, err
	}
	if len(entries) > maxEntries {
		return nil, nil, fmt.Errorf("%s has %d files: give a folder with one model, or a file", r.folder, len(entries))
	}
	byKind = map[Format][]string{}
	for _, e := range entries {
		info, err := fs.Stat(r.fsys, path.Join(r.folder, e.Name()))
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		kind, err := r.kind(e.Name())
		if err != nil {
			return nil, nil, err
		}
		if kind == text && strings.HasSuffix(e.Name(), ".index.json") {
			indexes = append(indexes, e.Name())
		}
		byKind[kind] = append(byKind[kind], e.Name())
	}
	return byKind, indexes, nil
}

// choose selects a model among the files; nil where there is none.
func (r *reader) choose(name string, byKind map[Format][]string, indexes []string) (*Checkpoint, error) {
	// An index of safetensors sorts after that of PyTorch and is preferred.
	slices.SortFunc(indexes, func(a, b string) int {
		return cmp.Or(-cmp.Compare(strings.Count(a, "safetensors"), strings.Count(b, "safetensors")), cmp.Compare(a, b))
	})
	for _, file := range indexes {
		content, err := r.content(file, maxIndex)
		if err != nil {
			return nil, err
		}
		x, err := parseIndex(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if strings.Contains(file, "safetensors") || len(byKind[Safetensors]) == 0 {
			return r.openIndex(name, x)
		}
	}
	for _, kind := range preferred {
		if files := byKind[kind]; len(files) > 0 {
			return r.openSet(name, kind, files)
		}
	}
	if !slices.Contains(byKind[text], configName) {
		return nil, nil
	}
	content, err := r.config()
	return &Checkpoint{Name: name, Format: Config, Config: content}, err
}

// openSet reads the files of a format, which must be one model: a single file, or all parts of one.
func (r *reader) openSet(name string, kind Format, files []string) (*Checkpoint, error) {
	whole, err := r.whole(files[0])
	if err != nil {
		return nil, err
	}
	if !slices.Equal(whole, files) {
		return nil, fmt.Errorf("%s holds %d %s files that are not one model and no index: give the file of one (%s)", name, len(files), kind, few(files))
	}
	return r.read(name, kind, files)
}

// openIndex reads the files of an index and holds it to them.
func (r *reader) openIndex(name string, x *index) (*Checkpoint, error) {
	for _, file := range x.files {
		if _, err := fs.Stat(r.fsys, path.Join(r.folder, file)); err != nil {
			return nil, fmt.Errorf("the index names %s, which is not there: fetch it", file)
		}
	}
	kind, err := r.kind(x.files[0])
	if err != nil {
		return nil, err
	}
	c, err := r.read(name, kind, x.files)
	if err != nil || kind != Safetensors {
		return c, err
	}
	return c, x.hold(c.where)
}

// leftOut lists the files of weights that the checkpoint does not read.
func leftOut(byKind map[Format][]string, c *Checkpoint) []string {
	var left []string
	for _, kind := range preferred {
		for _, file := range byKind[kind] {
			if !slices.ContainsFunc(c.Files, func(f File) bool { return f.Name == file }) {
				left = append(left, file)
			}
		}
	}
	return left
}

// few lists some names for people.
func few(names []string) string {
	const most = 3
	list := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		list = append(list, words.Echo(name))
	}
	if more := len(names) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}
