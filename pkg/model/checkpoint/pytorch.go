package checkpoint

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// maxZipDirectory is how many bytes of a PyTorch archive are read: its directory and the headers of its entries, some 200 a
// storage.
const maxZipDirectory = 16 << 20

// storageType stands for the type of a PyTorch storage, which only the pickle says.
const storageType = "storage"

// readPyTorch lists the storages of what torch.save writes: a zip of entries that are stored as they are, with a pickle
// data.pkl and the storages data/0, data/1 and so on. Nothing is unpickled: a pickle is a program.
func readPyTorch(in io.ReaderAt, size int64) ([]Tensor, error) {
	archive, err := zip.NewReader(&limited{in: in, left: maxZipDirectory}, size)
	if err != nil {
		return nil, fmt.Errorf("the zip archive cannot be read: %w", err)
	}
	folder, ok := pickleFolder(archive)
	if !ok {
		return nil, errors.New("a zip archive without data.pkl: no model of PyTorch; give safetensors, GGUF, ONNX or what torch.save writes")
	}
	var tensors []Tensor
	var spans []span
	for _, entry := range archive.File {
		s, err := storedSpan(entry, size)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", words.Echo(entry.Name), err)
		}
		spans = append(spans, s)
		name, inside := strings.CutPrefix(entry.Name, folder+"data/")
		if !inside || name == "" || len(name) > maxName {
			continue
		}
		tensors = append(tensors, Tensor{Name: name, Type: storageType, Shape: []int64{s.end - s.begin}, Elements: s.end - s.begin, Bytes: s.end - s.begin})
	}
	if err := apart(spans, size); err != nil {
		return nil, err
	}
	if len(tensors) == 0 {
		return nil, errors.New("data.pkl has no storages beside it: a pickle without weights")
	}
	return tensors, distinct(tensors)
}

// pickleFolder finds the folder that data.pkl lies in; torch.save names it after the file.
func pickleFolder(archive *zip.Reader) (string, bool) {
	for _, entry := range archive.File {
		if folder, found := strings.CutSuffix(entry.Name, "data.pkl"); found && strings.Count(folder, "/") <= 1 && (folder == "" || strings.HasSuffix(folder, "/")) {
			return folder, true
		}
	}
	return "", false
}

// storedSpan says where an entry's content lies. A compressed entry could grow to any size and is refused.
func storedSpan(entry *zip.File, size int64) (span, error) {
	if entry.Method != zip.Store || entry.CompressedSize64 != entry.UncompressedSize64 {
		return span{}, errors.New("it is compressed: torch.save compresses nothing, so this is no model of PyTorch")
	}
	begin, err := entry.DataOffset()
	if err != nil {
		return span{}, fmt.Errorf("its header cannot be read: %w", err)
	}
	if entry.UncompressedSize64 > uint64(max(0, size-begin)) {
		return span{}, errShort
	}
	return span{name: entry.Name, begin: begin, end: begin + int64(entry.UncompressedSize64)}, nil
}

// limited reads so many bytes and no more, so that an archive's directory cannot grow in memory.
type limited struct {
	in   io.ReaderAt
	left int64
}

// ReadAt reads as the reader inside does, until the limit is reached.
func (l *limited) ReadAt(p []byte, at int64) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("its directory has more than %d bytes: no published model's has", maxZipDirectory)
	}
	return l.in.ReadAt(p, at)
}
