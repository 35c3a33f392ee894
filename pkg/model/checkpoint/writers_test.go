package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
)

// entry is a tensor to be written.
type entry struct {
	name  string
	kind  string
	shape []int64
}

// safetensorsHeader writes length and header, and returns how many bytes of data belong after them.
func safetensorsHeader(entries []entry) (head []byte, data int64) {
	object := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var offset int64
	for _, e := range entries {
		elements, _ := product(e.shape)
		end := offset + elements*safetensorsBits[e.kind]/8
		object[e.name] = map[string]any{"dtype": e.kind, "shape": e.shape, "data_offsets": []int64{offset, end}}
		offset = end
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), offset
}

func safetensorsFile(entries ...entry) []byte {
	head, data := safetensorsHeader(entries)
	return append(head, make([]byte, data)...)
}

// rawSafetensors is a file with a header of any text and so many bytes of data.
func rawSafetensors(header string, data int) []byte {
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	return append(file, make([]byte, data)...)
}

// ggufWriter writes a GGUF file of version 3.
type ggufWriter struct {
	values  map[string]any
	entries []entry
}

func (w ggufWriter) header() []byte {
	file := append([]byte(ggufMagic), 3, 0, 0, 0)
	file = binary.LittleEndian.AppendUint64(file, uint64(len(w.entries)))
	file = binary.LittleEndian.AppendUint64(file, uint64(len(w.values)))
	for _, key := range slices.Sorted(maps.Keys(w.values)) {
		file = appendGGUFValue(appendGGUFText(file, key), w.values[key], true)
	}
	var offset int64
	for _, e := range w.entries {
		number, stored := ggmlType(e.kind)
		file = appendGGUFText(file, e.name)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(e.shape)))
		for _, d := range slices.Backward(e.shape) {
			file = binary.LittleEndian.AppendUint64(file, uint64(d))
		}
		file = binary.LittleEndian.AppendUint32(file, number)
		file = binary.LittleEndian.AppendUint64(file, uint64(offset))
		elements, _ := product(e.shape)
		offset = align(offset + elements/stored.values*stored.bytes)
	}
	return append(file, make([]byte, align(int64(len(file)))-int64(len(file)))...)
}

// size is what the tensors take, each but the last padded.
func (w ggufWriter) size() (all int64) {
	for _, e := range w.entries {
		_, stored := ggmlType(e.kind)
		elements, _ := product(e.shape)
		all = align(all) + elements/stored.values*stored.bytes
	}
	return all
}

func (w ggufWriter) file() []byte { return append(w.header(), make([]byte, w.size())...) }

func align(n int64) int64 { return (n + defaultAlignment - 1) / defaultAlignment * defaultAlignment }

func ggmlType(name string) (uint32, block) {
	for number, stored := range ggmlTypes {
		if stored.name == name {
			return number, stored
		}
	}
	panic(name)
}

func appendGGUFText(file []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(file, uint64(len(text))), text...)
}

// appendGGUFValue writes a value, after its type where it is no element of an array.
func appendGGUFValue(file []byte, value any, typed bool) []byte {
	kind := map[string]uint32{"uint32": 4, "float32": 6, "string": ggufString, "int64": 11}[fmt.Sprintf("%T", value)]
	if kind == 0 {
		kind = ggufArray
	}
	if typed {
		file = binary.LittleEndian.AppendUint32(file, kind)
	}
	switch v := value.(type) {
	case uint32:
		return binary.LittleEndian.AppendUint32(file, v)
	case float32:
		return binary.LittleEndian.AppendUint32(file, math.Float32bits(v))
	case int64:
		return binary.LittleEndian.AppendUint64(file, uint64(v))
	case string:
		return appendGGUFText(file, v)
	case []uint32:
		file = binary.LittleEndian.AppendUint32(file, 4)
		file = binary.LittleEndian.AppendUint64(file, uint64(len(v)))
		for _, n := range v {
			file = appendGGUFValue(file, n, false)
		}
		return file
	case []string:
		file = binary.LittleEndian.AppendUint32(file, ggufString)
		file = binary.LittleEndian.AppendUint64(file, uint64(len(v)))
		for _, s := range v {
			file = appendGGUFText(file, s)
		}
		return file
	}
	panic(fmt.Sprintf("%T", value))
}

// number and chunk write a field of a protocol buffer.
func number(field int, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|wireVarint), value)
}

func chunk(field int, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	head := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|wireBytes), uint64(len(content)))
	return append(head, content...)
}

// onnxFile writes a model with the fields of a graph.
func onnxFile(graph ...[]byte) []byte {
	return slices.Concat(number(modelIRVersion, 8), chunk(2, []byte("pytorch")), chunk(modelGraph, graph...), chunk(8, number(2, 17)))
}

// tensorOf writes a TensorProto with some fields for its data.
func tensorOf(name, kind string, dims []int64, data ...[]byte) []byte {
	var fields []byte
	for _, d := range dims {
		fields = append(fields, number(tensorDims, uint64(d))...)
	}
	for n, t := range onnxTypes {
		if t.name == kind {
			fields = append(fields, number(tensorType, n)...)
		}
	}
	return slices.Concat(fields, chunk(tensorName, []byte(name)), slices.Concat(data...))
}

// external writes the fields of a tensor whose data lies elsewhere.
func external(pairs ...string) []byte {
	fields := number(tensorWhere, locationExternal)
	for i := 0; i < len(pairs); i += 2 {
		fields = append(fields, chunk(tensorExternal, chunk(externalKey, []byte(pairs[i])), chunk(externalValue, []byte(pairs[i+1])))...)
	}
	return fields
}

// archive writes what torch.save does: entries that are stored as they are.
func archive(t testing.TB, entries map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write([]byte(entries[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
