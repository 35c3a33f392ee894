package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/rankwright/rankwright/internal/words"
)

// read reads the headers of the files of one model.
func (r *reader) read(name string, kind Format, files []string) (*Checkpoint, error) {
	collect, known := collectors[kind]
	if !known {
		return nil, fmt.Errorf("%s: no file of weights", files[0])
	}
	config, err := r.config()
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Name: name, Format: kind, Config: config}
	if err := collect(r, c, files); err != nil {
		return nil, err
	}
	slices.SortFunc(c.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	c.assign()
	return c, nil
}

// collectors read the files of a format.
var collectors = map[Format]func(*reader, *Checkpoint, []string) error{
	Safetensors: (*reader).collectSafetensors,
	PyTorch:     (*reader).collectPyTorch,
	legacy:      (*reader).collectLegacy,
	GGUF:        (*reader).collectGGUF,
	ONNX:        (*reader).collectONNX,
}

// collect reads each file by the parser of its format and joins their tensors, which must differ in name.
func (r *reader) collect(c *Checkpoint, files []string, parse func(file string, in io.ReaderAt, size int64) ([]Tensor, error)) error {
	for _, file := range files {
		err := r.with(file, func(b *blob) error {
			tensors, err := parse(file, b, b.size)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Format, err)
			}
			if c.Tensors = append(c.Tensors, tensors...); len(c.Tensors) > maxTensors {
				return errTooMany
			}
			c.Files = append(c.Files, File{Name: file, Bytes: b.size})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return distinct(c.Tensors)
}

func (r *reader) collectSafetensors(c *Checkpoint, files []string) error {
	c.where = map[string]string{}
	return r.collect(c, files, func(file string, in io.ReaderAt, size int64) ([]Tensor, error) {
		tensors, err := readSafetensors(in, size)
		for i := range tensors {
			c.where[tensors[i].Name] = file
		}
		return tensors, err
	})
}

const noPickle = "types and shapes of PyTorch files are in a pickle, which is a program and is not run: only sizes are known"

// collectPyTorch names storages after their file: each numbers its own from 0.
func (r *reader) collectPyTorch(c *Checkpoint, files []string) error {
	c.warn(noPickle)
	return r.collect(c, files, func(file string, in io.ReaderAt, size int64) ([]Tensor, error) {
		tensors, err := readPyTorch(in, size)
		for i := range tensors {
			tensors[i].Name = file + "/" + tensors[i].Name
		}
		return tensors, err
	})
}

// collectLegacy takes each file for one storage: there is no directory of them.
func (r *reader) collectLegacy(c *Checkpoint, files []string) error {
	c.Format = PyTorch
	c.warn(noPickle)
	c.warn("written before PyTorch 1.6: the sizes are those of whole files")
	return r.collect(c, files, func(file string, _ io.ReaderAt, size int64) ([]Tensor, error) {
		return []Tensor{{Name: file, Type: storageType, Shape: []int64{size}, Elements: size, Bytes: size}}, nil
	})
}

// collectGGUF joins the files of a split model, whose metadata is in the first, and lets it say the architecture.
func (r *reader) collectGGUF(c *Checkpoint, files []string) error {
	joined := &ggufHeader{}
	err := r.collect(c, files, func(file string, in io.ReaderAt, size int64) ([]Tensor, error) {
		h, err := readGGUF(in, size)
		if err != nil {
			return nil, err
		}
		if n, _ := h.values["split.count"].(int64); n > 1 && n != int64(len(files)) {
			return nil, fmt.Errorf("split.count is %d, but %d files are there: keep the names that the files were published with", n, len(files))
		}
		if joined.values == nil {
			joined.values = h.values
		}
		return h.tensors, nil
	})
	if err != nil {
		return err
	}
	joined.tensors = c.Tensors
	if name, _ := joined.values["general.name"].(string); name != "" {
		c.Name = words.Echo(name)
	}
	config, warnings, err := joined.config()
	if config != nil {
		c.Config = config
	}
	c.Warnings = append(c.Warnings, warnings...)
	return err
}

// collectONNX reads a model and looks for the files that its data lies in.
func (r *reader) collectONNX(c *Checkpoint, files []string) error {
	if len(files) != 1 {
		return fmt.Errorf("%d ONNX files: give one", len(files))
	}
	model := files[0]
	return r.with(model, func(b *blob) error {
		m, err := readONNX(b, b.size)
		if err != nil {
			return fmt.Errorf("ONNX: %w", err)
		}
		c.Tensors = m.tensors
		c.Files = append(c.Files, File{Name: model, Bytes: b.size})
		for _, location := range slices.Sorted(maps.Keys(m.outside)) {
			size, err := r.outside(model, location)
			if err != nil {
				return err
			}
			if err := apart(m.outside[location], size); err != nil {
				return fmt.Errorf("%s: %w", location, err)
			}
			c.Files = append(c.Files, File{Name: location, Bytes: size})
		}
		return nil
	})
}

// outside is the size of a file with external data.
func (r *reader) outside(model, location string) (int64, error) {
	if path.Clean(location) == model {
		return 0, errors.New("external_data names the model's own file: the model is damaged")
	}
	info, err := fs.Stat(r.fsys, path.Join(r.folder, location))
	if err != nil {
		return 0, fmt.Errorf("the model's data is in %s, which is not there: fetch it", words.Echo(location))
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: not a regular file", words.Echo(location))
	}
	return info.Size(), nil
}
