package checkpoint

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestGGUFIsReadBack writes any tensors and metadata and reads them.
func TestGGUFIsReadBack(t *testing.T) {
	var kinds []string
	for _, stored := range ggmlTypes {
		kinds = append(kinds, stored.name)
	}
	slices.Sort(kinds)
	rapid.Check(t, func(t *rapid.T) {
		w := ggufWriter{values: map[string]any{"general.architecture": "llama", "x.f": float32(1)}}
		values := map[string]any{"general.architecture": "llama", "x.f": nil}
		for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`k\.[a-z_.]{1,20}`), 0, 8, rapid.ID[string]).Draw(t, "keys") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				v := rapid.Uint32().Draw(t, "u32")
				w.values[key], values[key] = v, int64(v)
			case 1:
				v := rapid.Int64().Draw(t, "i64")
				w.values[key], values[key] = v, v
			case 2:
				v := rapid.String().Draw(t, "text")
				w.values[key], values[key] = v, v
			case 3:
				v := rapid.SliceOfN(rapid.Uint32(), 0, 8).Draw(t, "numbers")
				wide := make([]int64, len(v))
				for i := range v {
					wide[i] = int64(v[i])
				}
				w.values[key], values[key] = v, wide
			default:
				v := rapid.SliceOfN(rapid.String(), 0, 8).Draw(t, "texts")
				w.values[key], values[key] = v, arrayLength(len(v))
			}
		}
		var want []Tensor
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9_.]{1,40}`), 0, 8, rapid.ID[string]).Draw(t, "names") {
			e := entry{name: name, kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
			_, stored := ggmlType(e.kind)
			e.shape = append(rapid.SliceOfN(rapid.Int64Range(1, 5), 0, 3).Draw(t, "shape"), stored.values*rapid.Int64Range(1, 4).Draw(t, "row"))
			elements, _ := product(e.shape)
			w.entries = append(w.entries, e)
			want = append(want, Tensor{Name: name, Type: e.kind, Shape: e.shape, Elements: elements, Bytes: elements / stored.values * stored.bytes})
		}
		file := w.file()
		got, err := readGGUF(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		sortTensors(want)
		if diff := cmp.Diff(want, got.tensors); diff != "" {
			t.Fatalf("tensors (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(values, got.values); diff != "" {
			t.Fatalf("metadata (-want +got):\n%s", diff)
		}
	})
}

// patched writes an unsigned number over some bytes of a file.
func patched(file []byte, at int, value uint64) []byte {
	file = slices.Clone(file)
	binary.LittleEndian.PutUint64(file[at:], value)
	return file
}

func TestGGUFRefusals(t *testing.T) {
	plain := ggufWriter{entries: []entry{{"w", "F32", []int64{8}}, {"x", "F32", []int64{8}}}}.file()
	// Magic, version and counts take 24 bytes; name, rank, dimension and type of a tensor 25 before its offset.
	const first, second = 24, 24 + 33
	head := func(version uint32, tensors, values uint64, rest ...byte) []byte {
		file := binary.LittleEndian.AppendUint32([]byte(ggufMagic), version)
		file = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(file, tensors), values)
		return append(file, rest...)
	}
	value := func(kind uint32, rest ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(appendGGUFText(nil, "k"), kind), rest...)
	}
	nest := func(depth int) []byte {
		var rest []byte
		for range depth {
			rest = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(rest, ggufArray), 1)
		}
		return value(ggufArray, rest...)
	}
	huge := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, 4), 1<<63)
	texts := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, ggufString), 1<<60)
	tests := map[string]struct {
		file []byte
		want string
	}{
		"nothing":              {nil, "cut off"},
		"20 bytes":             {plain[:20], "cut off"},
		"23 bytes":             {plain[:23], "cut off"},
		"version 1":            {head(1, 0, 0), "version 1"},
		"version 4":            {head(4, 0, 0), "version 4"},
		"big-endian":           {head(3<<24, 0, 0), "big-endian"},
		"too many tensors":     {head(3, 1<<40, 0), "at most"},
		"too many values":      {head(3, 0, 1<<60), "at most"},
		"key too long":         {head(3, 0, 1, binary.LittleEndian.AppendUint64(nil, 1<<40)...), "at most 65535"},
		"unknown value type":   {head(3, 0, 1, value(13)...), "value type 13"},
		"text past the end":    {head(3, 0, 1, value(ggufString, binary.LittleEndian.AppendUint64(nil, 1<<62)...)...), "cut off"},
		"array past the end":   {head(3, 0, 1, value(ggufArray, huge...)...), "cut off"},
		"texts past the end":   {head(3, 0, 1, value(ggufArray, texts...)...), "cut off"},
		"arrays in arrays":     {head(3, 0, 1, nest(1000)...), "nested more than 4"},
		"key twice":            {head(3, 0, 2, append(value(0, 1), value(0, 1)...)...), "there twice"},
		"data cut off":         {plain[:len(plain)-1], "cut off"},
		"overlap":              {patched(plain, second+25, 0), "share bytes"},
		"not aligned":          {patched(plain, second+25, 33), "multiples of 32"},
		"offset past the end":  {patched(plain, second+25, 1<<40), "cut off"},
		"offset overflows":     {patched(plain, second+25, 1<<63), "more than a file can have"},
		"dimension overflows":  {patched(plain, first+13, 1<<62), "more than a file can have"},
		"dimension negative":   {patched(plain, first+13, 1<<63), "header is damaged"},
		"unknown type":         {patched(plain, first+21, 4), "type 4 is not known"},
		"name too long":        {patched(plain, first, 1<<50), "at most 4096"},
		"too many dimensions":  {patched(plain, first+9, 5), "5 dimensions"},
		"not a whole block":    {patched(plain, first+21, 12), "blocks of 256"},
		"alignment of nothing": {ggufWriter{values: map[string]any{"general.alignment": uint32(0)}}.file(), "general.alignment is 0"},
		"alignment of 33":      {ggufWriter{values: map[string]any{"general.alignment": uint32(33)}}.file(), "general.alignment is 33"},
		"tensor twice":         {ggufWriter{entries: []entry{{"w", "F32", []int64{8}}, {"w", "F32", []int64{8}}}}.file(), "there twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readGGUF(bytes.NewReader(test.file), int64(len(test.file)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzGGUF(f *testing.F) {
	f.Add(ggufWriter{
		values:  map[string]any{"general.architecture": "llama", "llama.block_count": uint32(1), "tokenizer.ggml.tokens": []string{"a", "b"}, "llama.attention.head_count_kv": []uint32{1, 2}},
		entries: []entry{{"token_embd.weight", "Q4_K", []int64{2, 256}}, {"blk.0.attn_q.weight", "F32", []int64{4}}},
	}.file())
	f.Add([]byte("GGUF\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := readGGUF(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		checkHeld(t, h.tensors, int64(len(file)))
		if _, _, err := h.config(); err != nil {
			t.Errorf("config of a readable header: %v", err)
		}
	})
}
