package checkpoint

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rankwright/rankwright/internal/words"
)

// maxSafetensorsHeader is the size in bytes of a header, as in the format's reference implementation (MAX_HEADER_SIZE in
// huggingface/safetensors, safetensors/src/tensor.rs).
const maxSafetensorsHeader = 100_000_000

// maxEntry is the size in bytes of a tensor's entry in the header.
const maxEntry = 4096

// safetensorsBits are the types of the format with their widths, after the same file.
var safetensorsBits = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16,
	"I32": 32, "U32": 32, "F32": 32,
	"C64": 64, "F64": 64, "I64": 64, "U64": 64,
}

// readSafetensors reads a header: its length in 8 bytes, a JSON object of tensors, and the data, which the tensors must
// cover without gap or overlap.
func readSafetensors(in io.ReaderAt, size int64) ([]Tensor, error) {
	var head [8]byte
	if _, err := in.ReadAt(head[:], 0); err != nil {
		return nil, errShort
	}
	length := binary.LittleEndian.Uint64(head[:])
	if length > maxSafetensorsHeader {
		return nil, fmt.Errorf("the header has %d bytes: the format allows %d", length, maxSafetensorsHeader)
	}
	if int64(length) > size-8 {
		return nil, errShort
	}
	tensors, spans, err := readSafetensorsHeader(io.NewSectionReader(in, 8, int64(length)))
	if err != nil {
		return nil, err
	}
	return tensors, tile(spans, size-8-int64(length))
}

func readSafetensorsHeader(in io.Reader) (tensors []Tensor, spans []span, err error) {
	decoder := json.NewDecoder(in)
	for name, err := range keys(decoder) {
		var raw json.RawMessage
		if err := cmp.Or(err, noJSON(decoder.Decode(&raw))); err != nil {
			return nil, nil, fmt.Errorf("header: %w", err)
		}
		if name == "__metadata__" {
			continue
		}
		t, s, err := readSafetensorsEntry(raw, name)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", words.Echo(name), err)
		}
		if tensors, spans = append(tensors, t), append(spans, s); len(tensors) > maxTensors {
			return nil, nil, errTooMany
		}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("there is more after the header's JSON object: the file is damaged")
	}
	return tensors, spans, distinct(tensors)
}

// errTooMany refuses a header that no published model needs.
var errTooMany = fmt.Errorf("more than %d tensors: no published model has as many", maxTensors)

func readSafetensorsEntry(raw json.RawMessage, name string) (Tensor, span, error) {
	var entry struct {
		DType   string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	// A list of dimensions takes more memory than its text, so long entries are refused first.
	if len(raw) > maxEntry {
		return Tensor{}, span{}, fmt.Errorf("its entry has %d bytes: at most %d are read", len(raw), maxEntry)
	}
	if err := json.Unmarshal(raw, &entry); err != nil {
		return Tensor{}, span{}, noJSON(err)
	}
	width, known := safetensorsBits[entry.DType]
	if !known {
		return Tensor{}, span{}, fmt.Errorf("dtype %q is not known: only the types of the safetensors format are read", words.Echo(entry.DType))
	}
	if len(entry.Shape) > maxRank || len(name) > maxName {
		return Tensor{}, span{}, fmt.Errorf("%d dimensions and a name of %d bytes: at most %d and %d are read", len(entry.Shape), len(name), maxRank, maxName)
	}
	elements, ok := product(entry.Shape)
	size, fits := product([]int64{elements, width})
	if !ok || !fits || size%8 != 0 {
		return Tensor{}, span{}, fmt.Errorf("shape %v of %s is no whole number of bytes that a file can have: the header is damaged", entry.Shape, entry.DType)
	}
	if len(entry.Offsets) != 2 || entry.Offsets[0] < 0 || entry.Offsets[1] < entry.Offsets[0] {
		return Tensor{}, span{}, fmt.Errorf("data_offsets is %v: two offsets are needed, the second not below the first", entry.Offsets)
	}
	s := span{name: name, begin: entry.Offsets[0], end: entry.Offsets[1]}
	if s.end-s.begin != size/8 {
		return Tensor{}, span{}, fmt.Errorf("data_offsets %v hold %d bytes, but shape %v of %s needs %d: the header is damaged", entry.Offsets, s.end-s.begin, entry.Shape, entry.DType, size/8)
	}
	return Tensor{Name: name, Type: entry.DType, Shape: entry.Shape, Elements: elements, Bytes: size / 8}, s, nil
}

// distinct sorts tensors by name and refuses two of one name.
func distinct(tensors []Tensor) error {
	sortTensors(tensors)
	for i := 1; i < len(tensors); i++ {
		if tensors[i].Name == tensors[i-1].Name {
			return fmt.Errorf("tensor %q is there twice: the files do not belong together or the header is damaged", words.Echo(tensors[i].Name))
		}
	}
	return nil
}

func sortTensors(tensors []Tensor) {
	slices.SortStableFunc(tensors, func(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) })
}
