package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ggufMagic and zipMagic begin files of these formats.
const (
	ggufMagic = "GGUF"
	zipMagic  = "PK\x03\x04"
)

// torchMagic begins what torch.save wrote before PyTorch 1.6: the pickle of its magic number 0x1950a86a20f9469cfc6c
// (torch/serialization.py).
const torchMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"

// lfsMagic begins what Git leaves in place of a large file that was not fetched.
const lfsMagic = "version https://git-lfs.github.com/spec/"

// headSize is how much of a file tells its format.
const headSize = len(lfsMagic)

// kinds of files that are not formats of weights.
const (
	text   Format = "JSON"
	other  Format = ""
	legacy Format = "PyTorch before 1.6"
)

var errPointer = errors.New("this is a pointer of Git LFS and not the file itself: fetch it with `git lfs pull`")

// sniff recognises a file by its first bytes.
func sniff(in io.ReaderAt, size int64) (Format, error) {
	head := make([]byte, min(int64(headSize), size))
	if _, err := in.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return other, fmt.Errorf("read its start: %w", err)
	}
	if bytes.HasPrefix(head, []byte(lfsMagic)) {
		return other, errPointer
	}
	return kindOf(head), nil
}

// begins are how files of a format start.
var begins = []struct {
	magic  string
	format Format
}{
	{ggufMagic, GGUF},
	{zipMagic, PyTorch},
	{torchMagic, legacy},
}

func kindOf(head []byte) Format {
	for _, b := range begins {
		if bytes.HasPrefix(head, []byte(b.magic)) {
			return b.format
		}
	}
	object := len(head) > 8 && head[8] == '{'
	switch {
	case object && binary.LittleEndian.Uint64(head) < 1<<32:
		return Safetensors
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		return text
	case looksLikeONNX(head):
		return ONNX
	case object:
		return Safetensors
	}
	return other
}

// looksLikeONNX says whether a file starts like a ModelProto: with its ir_version, then another of its fields.
func looksLikeONNX(head []byte) bool {
	if len(head) < 4 || head[0] != modelIRVersion<<3|wireVarint || head[1] == 0 || head[1] > maxIRVersion {
		return false
	}
	number, kind := head[2]>>3, head[2]&7
	// producer_name, producer_version, domain, model_version, doc_string, graph, opset_import and metadata_props.
	return kind == wireBytes && number >= 2 && number <= 14 || kind == wireVarint && number == 5
}
