package checkpoint

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// folder makes a file system of files.
func folder(files map[string][]byte) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: content}
	}
	return fsys
}

var (
	half1    = safetensorsFile(entry{"model.layers.0.a", "BF16", []int64{8, 2}}, entry{"model.layers.0.b", "BF16", []int64{2}})
	half2    = safetensorsFile(entry{"model.layers.1.a", "BF16", []int64{8, 2}}, entry{"head", "F32", []int64{4}})
	both     = []byte(`{"metadata":{},"weight_map":{"model.layers.0.a":"m-1","model.layers.0.b":"m-1","model.layers.1.a":"m-2","head":"m-2"}}`)
	config   = []byte(`{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"vocab_size":100,"intermediate_size":128,"torch_dtype":"bfloat16"}`)
	embedded = onnxFile(chunk(graphInitializer, tensorOf("w", "FLOAT", []int64{4}, chunk(tensorRaw, make([]byte, 16)))))
	outer    = onnxFile(
		chunk(graphInitializer, tensorOf("w", "FLOAT", []int64{4}, external("location", "w.data", "offset", "0", "length", "16"))),
		chunk(graphInitializer, tensorOf("x", "FLOAT", []int64{4}, external("location", "w.data", "offset", "16"))))
	tiny  = ggufWriter{entries: []entry{{"blk.0.w", "Q8_0", []int64{2, 32}}}}
	part1 = ggufWriter{values: map[string]any{"split.count": uint32(2), "general.name": "Two"}, entries: tiny.entries}.file()
	part2 = ggufWriter{values: map[string]any{"split.count": uint32(2)}, entries: []entry{{"blk.1.w", "Q8_0", []int64{2, 32}}}}.file()
	old   = append([]byte(torchMagic), make([]byte, 100)...)
)

func TestOpen(t *testing.T) {
	tests := map[string]struct {
		files  map[string][]byte
		path   string
		format Format
		name   string
		bytes  int64
		read   int // files
	}{
		"safetensors under another name": {map[string][]byte{"d/weights.bin": half1}, "d/weights.bin", Safetensors, "weights", 36, 1},
		"file named after nothing":       {map[string][]byte{"d/model.safetensors": half1}, "d/model.safetensors", Safetensors, "d", 36, 1},
		"folder with one":                {map[string][]byte{"d/x": half1, "d/README.md": []byte("# x"), "d/config.json": config}, "d", Safetensors, "d", 36, 1},
		"folder with an index":           {map[string][]byte{"d/m-1": half1, "d/m-2": half2, "d/model.safetensors.index.json": both}, "d", Safetensors, "d", 84, 2},
		"the index":                      {map[string][]byte{"d/m-1": half1, "d/m-2": half2, "d/i": both}, "d/i", Safetensors, "i", 84, 2},
		"index beside the same once more": {map[string][]byte{
			"d/m-1": half1, "d/m-2": half2, "d/consolidated.safetensors": half1, "d/original/x": half1, "d/model.safetensors.index.json": both,
		}, "d", Safetensors, "d", 84, 2},
		"all parts":              {map[string][]byte{"d/m-00001-of-00002.x": half1, "d/m-00002-of-00002.x": half2}, "d", Safetensors, "d", 84, 2},
		"a part":                 {map[string][]byte{"d/m-00001-of-00002.x": half1, "d/m-00002-of-00002.x": half2}, "d/m-00002-of-00002.x", Safetensors, "m", 84, 2},
		"GGUF":                   {map[string][]byte{"d/x": tiny.file()}, "d/x", GGUF, "x", 68, 1},
		"GGUF in parts":          {map[string][]byte{"d/x-00001-of-00002.gguf": part1, "d/x-00002-of-00002.gguf": part2}, "d", GGUF, "Two", 136, 2},
		"ONNX":                   {map[string][]byte{"d/x": embedded}, "d", ONNX, "d", 16, 1},
		"ONNX with data outside": {map[string][]byte{"d/x": outer, "d/w.data": make([]byte, 32)}, "d/x", ONNX, "x", 32, 2},
		"PyTorch":                {map[string][]byte{"d/pytorch_model.bin": archive(t, saved)}, "d", PyTorch, "d", 704, 1},
		"PyTorch in parts": {map[string][]byte{
			"d/m-00001-of-00002.bin": archive(t, saved), "d/m-00002-of-00002.bin": archive(t, saved),
		}, "d", PyTorch, "d", 1408, 2},
		"PyTorch before 1.6":      {map[string][]byte{"d/x.pth": old}, "d/x.pth", PyTorch, "x", 114, 1},
		"config.json":             {map[string][]byte{"d/config.json": config}, "d/config.json", Config, "d", 0, 0},
		"folder with config.json": {map[string][]byte{"d/config.json": config}, "d", Config, "d", 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Open(folder(test.files), test.path)
			if err != nil {
				t.Fatal(err)
			}
			if c.Format != test.format || c.Name != test.name || c.Bytes() != test.bytes || len(c.Files) != test.read {
				t.Errorf("%s %q, %d bytes in %d files; want %s %q, %d in %d", c.Format, c.Name, c.Bytes(), len(c.Files), test.format, test.name, test.bytes, test.read)
			}
		})
	}
}

func TestOpenRefusals(t *testing.T) {
	index := func(text string) []byte { return []byte(`{"weight_map":{` + text + `}}`) }
	tests := map[string]struct {
		files map[string][]byte
		path  string
		want  string
	}{
		"no such file":         {map[string][]byte{"d/x": half1}, "d/y", "d/y"},
		"above the root":       {map[string][]byte{"d/x": half1}, "../x", "../x"},
		"empty folder":         {map[string][]byte{"d/x": nil}, "d", "holds no model"},
		"text":                 {map[string][]byte{"d/x": []byte("hello, world")}, "d/x", "not a model"},
		"pointer of Git LFS":   {map[string][]byte{"d/x": []byte(lfsMagic + "v1\noid sha256:00\n")}, "d/x", "git lfs pull"},
		"pointer in a folder":  {map[string][]byte{"d/x": []byte(lfsMagic + "v1\noid sha256:00\n")}, "d", "x: this is a pointer"},
		"two models":           {map[string][]byte{"d/a": half1, "d/b": half2}, "d", "give the file of one (a, b)"},
		"part missing":         {map[string][]byte{"d/m-00001-of-00002.x": half1}, "d", "m-00002-of-00002.x is not there: fetch it"},
		"too many parts":       {map[string][]byte{"d/m-00001-of-99999.x": half1}, "d", "a model has 1 to 4096"},
		"shard missing":        {map[string][]byte{"d/m-1": half1, "d/i": both}, "d/i", "m-2, which is not there"},
		"index, no JSON":       {map[string][]byte{"d/i": []byte(`{"metadata":{},"weight_map":{"w"`)}, "d/i", "no JSON"},
		"index of itself":      {map[string][]byte{"d/i": index(`"w":"i"`)}, "d/i", "no file of weights"},
		"index of an index":    {map[string][]byte{"d/i": index(`"w":"j"`), "d/j": index(`"w":"i"`)}, "d/i", "no file of weights"},
		"tensor elsewhere":     {map[string][]byte{"d/m-1": half1, "d/i": index(`"other":"m-1"`)}, "d/i", "it does not: fetch both again"},
		"tensor unnamed":       {map[string][]byte{"d/m-1": half1, "d/i": index(`"model.layers.0.a":"m-1"`)}, "d/i", "1 tensors that the index does not name"},
		"tensor in two shards": {map[string][]byte{"d/m-1": half1, "d/m-2": half1, "d/i": both}, "d/i", "there twice"},
		"data not there":       {map[string][]byte{"d/x": outer}, "d/x", "w.data, which is not there: fetch it"},
		"data cut off":         {map[string][]byte{"d/x": outer, "d/w.data": make([]byte, 31)}, "d/x", "cut off"},
		"data shared": {map[string][]byte{"d/w.data": make([]byte, 32), "d/x": onnxFile(
			chunk(graphInitializer, tensorOf("w", "FLOAT", []int64{4}, external("location", "w.data"))),
			chunk(graphInitializer, tensorOf("x", "FLOAT", []int64{4}, external("location", "w.data", "offset", "8"))))}, "d/x", "share bytes"},
		"data is the model": {map[string][]byte{"d/x": onnxFile(chunk(graphInitializer, tensorOf("w", "FLOAT", []int64{4}, external("location", "x"))))}, "d/x", "the model's own file"},
		"half of a split":   {map[string][]byte{"d/x": part1}, "d/x", "split.count is 2, but 1 files"},
		"damaged":           {map[string][]byte{"d/x": half1[:len(half1)-1]}, "d/x", "x: safetensors: the tensors end at byte 36"},
		"large config":      {map[string][]byte{"d/config.json": append(append([]byte("{"), bytes.Repeat([]byte(" "), maxConfig)...), 0x7d)}, "d/config.json", "at most 1048576"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Open(folder(test.files), test.path)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, error %v; want %q", c, err, test.want)
			}
		})
	}
}

// TestOpenRefusesPipesAndCycles gives what would block or never end.
func TestOpenRefusesPipesAndCycles(t *testing.T) {
	root := t.TempDir()
	if err := os.Symlink("loop", filepath.Join(root, "loop")); err != nil {
		t.Skip(err)
	}
	if c, err := Open(os.DirFS(root), "loop"); err == nil {
		t.Errorf("a link to itself: %v", c)
	}
	if err := os.Symlink(root, filepath.Join(root, "again")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(os.DirFS(root), "again"); err == nil || !strings.Contains(err.Error(), "holds no model") {
		t.Errorf("a folder in itself: %v", err)
	}
	pipe := fstest.MapFS{"p": {Mode: fs.ModeNamedPipe}, "d/p": {Mode: fs.ModeDevice}}
	for _, path := range []string{"p", "d/p"} {
		if _, err := Open(pipe, path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestHugeClaimsTakeNoMemory gives files of a few bytes that claim to hold very much.
func TestHugeClaimsTakeNoMemory(t *testing.T) {
	claims := map[string][]byte{
		"safetensors": append(patched(make([]byte, 8), 0, maxSafetensorsHeader), '{', '"'),
		"GGUF":        patched(patched(tiny.file(), 8, maxTensors), 16, maxGGUFValues),
		"ONNX":        append(number(modelIRVersion, 8), modelGraph<<3|wireBytes, 0xff, 0xff, 0xff, 0xff, 0x07),
		"PyTorch":     promising(t),
	}
	for name, file := range claims {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Open(folder(map[string][]byte{"x": file}), "x")
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("no error")
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 4<<20 {
				t.Errorf("%d bytes were allocated for a file of %d", taken, len(file))
			}
		})
	}
}

// TestMemoryFollowsTheFile gives files of a megabyte that would grow when they are read.
func TestMemoryFollowsTheFile(t *testing.T) {
	const size = 1 << 20
	files := map[string][]byte{
		"dimensions":          rawSafetensors(`{"w":{"dtype":"U8","shape":[1`+strings.Repeat(",1", size/2)+`],"data_offsets":[0,1]}}`, 1),
		"lists in lists":      rawSafetensors(`{"w":`+strings.Repeat("[", size), 0),
		"metadata in lists":   rawSafetensors(`{"__metadata__":[`+strings.Repeat("1,", size/2)+`1],"w":0}`, 0),
		"files of an index":   []byte(`{"weight_map":{"w":[` + strings.Repeat("1,", size/2) + `1]}}`),
		"dims":                onnxFile(chunk(graphInitializer, chunk(tensorDims, make([]byte, size)))),
		"strings of an array": ggufWriter{values: map[string]any{"tokenizer.ggml.tokens": make([]string, size/8)}}.file()[:size],
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Open(folder(map[string][]byte{"x": file}), "x")
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("no error")
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 16*size {
				t.Errorf("%d bytes were allocated for a file of %d", taken, len(file))
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	c, err := Open(folder(map[string][]byte{"d/a": half1, "d/pytorch_model.bin": archive(t, saved), "d/z.onnx": embedded}), "d")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"left out, since the safetensors files are taken: pytorch_model.bin, z.onnx"}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestByLayer(t *testing.T) {
	tests := map[string]string{
		"model.layers.7.self_attn.q_proj.weight": "model.layers 7", "blk.12.attn_q.weight": "blk 12", "transformer.h.3.attn.bias": "transformer.h 3",
		"vision_tower.blocks.0.norm.weight": "vision_tower.blocks 0", "/model/layers.5/mlp/MatMul": "/model/layers 5", "h.0.a": "h 0",
		"model.language_model.layers.1.mlp.experts.3.w": "model.language_model.layers 1",
		"lm_head.weight": "", "model.layers.x.weight": "", "model.players.1.weight": "", "layers.99999.w": "",
	}
	for name, want := range tests {
		c := &Checkpoint{Tensors: []Tensor{{Name: name, Bytes: 3}}}
		layers, outside := c.ByLayer()
		switch {
		case want == "" && (len(layers) != 0 || outside.Bytes != 3):
			t.Errorf("%s: %v, want it outside", name, layers)
		case want != "" && (len(layers) != 1 || outside.Bytes != 0 || fmt.Sprint(layers[0].Stack, " ", layers[0].Index) != want):
			t.Errorf("%s: %v, want %s", name, layers, want)
		}
	}
}

func TestProduct(t *testing.T) {
	tests := []struct {
		dims []int64
		want int64
		ok   bool
	}{
		{nil, 1, true},
		{[]int64{2, 3}, 6, true},
		{[]int64{math.MaxInt64, 1}, math.MaxInt64, true},
		{[]int64{math.MaxInt64, 2}, 0, false},
		{[]int64{math.MaxInt64, math.MaxInt64, 0}, 0, true},
		{[]int64{-1, -1}, 0, false},
		{[]int64{0, -1}, 0, false},
	}
	for _, test := range tests {
		if got, ok := product(test.dims); got != test.want || ok != test.ok {
			t.Errorf("%v: %d %v, want %d %v", test.dims, got, ok, test.want, test.ok)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, file := range [][]byte{half1, both, config, embedded, outer, part1, old, archive(f, saved), []byte(lfsMagic)} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Open(folder(map[string][]byte{"d/x": file, "d/w.data": make([]byte, 32)}), "d/x")
		if err != nil {
			return
		}
		c.ByType()
		c.ByLayer()
		if m, err := c.Model(); err == nil && m.Parameters() < 1 {
			t.Errorf("a model of %d parameters", m.Parameters())
		}
	})
}
