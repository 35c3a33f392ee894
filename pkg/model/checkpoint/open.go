package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// configName is what config.json is called everywhere.
const configName = "config.json"

// maxConfig is the size in bytes of a config.json.
const maxConfig = 1 << 20

// Open reads the headers of the model at a path of a file system: a folder with weights, a file of them, an index, or a
// config.json. Of a model in several files, one of them stands for all. Files must be readable at any offset (io.ReaderAt),
// as those of os.DirFS are. The error names the file, what is wrong with it and the remedy.
func Open(fsys fs.FS, name string) (*Checkpoint, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	r := &reader{fsys: fsys}
	if info.IsDir() {
		r.folder = name
		return r.openFolder(path.Base(name))
	}
	r.folder = path.Dir(name)
	return r.openFile(path.Base(name))
}

// reader reads the files of a folder.
type reader struct {
	fsys   fs.FS
	folder string
}

// blob is an open file.
type blob struct {
	io.ReaderAt
	io.Closer
	size int64
}

// open opens a regular file of the folder: a pipe would block and a device has no size.
func (r *reader) open(name string) (*blob, error) {
	at := path.Join(r.folder, name)
	info, err := fs.Stat(r.fsys, at)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	file, err := r.fsys.Open(at)
	if err != nil {
		return nil, err
	}
	in, ok := file.(io.ReaderAt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s: this file system cannot read at an offset", name), file.Close())
	}
	return &blob{ReaderAt: in, Closer: file, size: info.Size()}, nil
}

// with opens a file, hands it on, and names it in the error.
func (r *reader) with(name string, use func(*blob) error) error {
	b, err := r.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	if err := use(b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// kind recognises a file of the folder.
func (r *reader) kind(name string) (kind Format, err error) {
	err = r.with(name, func(b *blob) (err error) {
		kind, err = sniff(b, b.size)
		return err
	})
	return kind, err
}

// content reads a small file.
func (r *reader) content(name string, most int64) (content []byte, err error) {
	err = r.with(name, func(b *blob) error {
		if b.size > most {
			return fmt.Errorf("%d bytes: at most %d are read", b.size, most)
		}
		content, err = io.ReadAll(io.NewSectionReader(b, 0, b.size))
		return err
	})
	return content, err
}

// config reads the config.json of the folder; nil where there is none.
func (r *reader) config() ([]byte, error) {
	content, err := r.content(configName, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

func (r *reader) openFile(name string) (*Checkpoint, error) {
	kind, err := r.kind(name)
	if err != nil {
		return nil, err
	}
	switch kind {
	case other:
		return nil, fmt.Errorf("%s: not a model: give safetensors, its index, GGUF, ONNX, PyTorch or a config.json", name)
	case text:
		return r.openText(name)
	}
	files, err := r.whole(name)
	if err != nil {
		return nil, err
	}
	c, err := r.read(r.nameOf(name), kind, files)
	if err == nil && len(files) > 1 {
		c.warn("%s is one of %d files of a model: all are read", name, len(files))
	}
	return c, err
}

// openText reads an index or a config.json.
func (r *reader) openText(name string) (*Checkpoint, error) {
	content, err := r.content(name, maxIndex)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(content)
	switch {
	case err == nil:
		return r.openIndex(r.nameOf(name), x)
	case !errors.Is(err, errNoIndex):
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(content) > maxConfig:
		return nil, fmt.Errorf("%s: neither an index nor a config.json, which has at most %d bytes", name, maxConfig)
	}
	return &Checkpoint{Name: r.nameOf(name), Format: Config, Config: content}, nil
}

// generic are names of files that say nothing of the model.
var generic = regexp.MustCompile(`^(model|pytorch_model|config|consolidated|diffusion_pytorch_model)([-.].*)?$`)

// nameOf is what a model is called that is given by a file: the folder's name where the file's says nothing.
func (r *reader) nameOf(name string) string {
	if folder := path.Base(r.folder); generic.MatchString(name) && folder != "." {
		return folder
	}
	name = strings.TrimSuffix(name, path.Ext(name))
	if parts := partOf.FindStringSubmatch(name); parts != nil {
		name = parts[1]
	}
	return name
}

// partOf is how a file of several is named: NAME-00001-of-00003, from 1, as transformers and llama.cpp do.
var partOf = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})((?:\..*)?)$`)

// maxParts is how many files a model may have: more than published ones by far.
const maxParts = 4096

// whole lists the files of a model of which one is given; all must be there.
func (r *reader) whole(name string) ([]string, error) {
	parts := partOf.FindStringSubmatch(name)
	if parts == nil {
		return []string{name}, nil
	}
	n, _ := strconv.Atoi(parts[3])
	if n < 1 || n > maxParts {
		return nil, fmt.Errorf("%s: of %d files: a model has 1 to %d", name, n, maxParts)
	}
	files := make([]string, n)
	for i := range files {
		files[i] = fmt.Sprintf("%s-%05d-of-%05d%s", parts[1], i+1, n, parts[4])
		if _, err := fs.Stat(r.fsys, path.Join(r.folder, files[i])); err != nil {
			return nil, fmt.Errorf("%s is one of %d files, but %s is not there: fetch it", name, n, files[i])
		}
	}
	return files, nil
}
