package checkpoint

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestONNXIsReadBack writes any initialisers and reads them.
func TestONNXIsReadBack(t *testing.T) {
	var kinds []string
	for _, stored := range onnxTypes {
		if stored.bits > 0 {
			kinds = append(kinds, stored.name)
		}
	}
	slices.Sort(kinds)
	bits := map[string]int64{}
	for _, stored := range onnxTypes {
		bits[stored.name] = stored.bits
	}
	rapid.Check(t, func(t *rapid.T) {
		var graph [][]byte
		var want []Tensor
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9_./]{1,40}`), 0, 8, rapid.ID[string]).Draw(t, "names") {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			dims := rapid.SliceOfN(rapid.Int64Range(0, 5), 1, 4).Draw(t, "dims")
			elements, _ := product(dims)
			size := (elements*bits[kind] + 7) / 8
			graph = append(graph, chunk(graphInitializer, tensorOf(name, kind, dims, chunk(tensorRaw, make([]byte, size)))))
			want = append(want, Tensor{Name: name, Type: kind, Shape: dims, Elements: elements, Bytes: size})
		}
		file := onnxFile(graph...)
		got, err := readONNX(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		sortTensors(want)
		if diff := cmp.Diff(want, got.tensors); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if kindOf(file[:min(len(file), headSize)]) != ONNX {
			t.Fatalf("taken for %q", kindOf(file[:headSize]))
		}
	})
}

// TestONNXFindsTensorsEverywhere reads a packed list of dimensions, values in fields of their type, a constant node, a
// branch and a sparse initialiser.
func TestONNXFindsTensorsEverywhere(t *testing.T) {
	raw := func(n int) []byte { return chunk(tensorRaw, make([]byte, n)) }
	branch := chunk(attributeGraph, chunk(graphInitializer, tensorOf("branch", "INT8", []int64{3}, raw(3))))
	file := onnxFile(
		chunk(graphInitializer, chunk(tensorDims, []byte{2, 3}), number(tensorType, 1), chunk(tensorName, []byte("packed")), chunk(tensorFloats, make([]byte, 24))),
		chunk(graphNode, chunk(nodeAttribute, chunk(attributeTensor, tensorOf("constant", "FLOAT16", []int64{2}, raw(4))))),
		chunk(graphNode, chunk(nodeAttribute, branch)),
		chunk(graphSparse, chunk(sparseValues, tensorOf("sparse", "FLOAT", []int64{1}, raw(4))), chunk(sparseIndices, tensorOf("at", "INT64", []int64{1}, raw(8)))),
		chunk(graphInitializer, tensorOf("words", "STRING", []int64{2}, chunk(tensorStrings, []byte("ab")), chunk(tensorStrings, []byte("c")))),
		chunk(graphInitializer, tensorOf("scalar", "DOUBLE", nil, raw(8))),
	)
	m, err := readONNX(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range m.tensors {
		got[x.Name] = fmt.Sprint(x.Type+" ", x.Shape, x.Bytes)
	}
	want := map[string]string{
		"packed": "FLOAT [2 3] 24", "constant": "FLOAT16 [2] 4", "branch": "INT8 [3] 3", "sparse": "FLOAT [1] 4", "at": "INT64 [1] 8",
		"words": "STRING [2] 3", "scalar": "DOUBLE [] 8",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestONNXRefusals(t *testing.T) {
	with := func(tensor []byte) []byte { return onnxFile(chunk(graphInitializer, tensor)) }
	deep := chunk(graphInitializer, tensorOf("w", "INT8", []int64{1}, chunk(tensorRaw, []byte{1})))
	for range 100 {
		deep = chunk(graphNode, chunk(nodeAttribute, chunk(attributeGraph, deep)))
	}
	whole := with(tensorOf("w", "FLOAT", []int64{2}, chunk(tensorRaw, make([]byte, 8))))
	tests := map[string]struct {
		file []byte
		want string
	}{
		"nothing":              {nil, "ir_version is 0"},
		"cut off":              {whole[:len(whole)/2], "damaged"},
		"no graph":             {number(modelIRVersion, 8), "0 graphs"},
		"graph twice":          {slices.Concat(onnxFile(), chunk(modelGraph)), "2 graphs"},
		"unknown version":      {slices.Concat(number(modelIRVersion, 99), chunk(modelGraph)), "ir_version is 99"},
		"length past the end":  {append(number(modelIRVersion, 8), modelGraph<<3|wireBytes, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "damaged"},
		"endless varint":       {bytes.Repeat([]byte{0xff}, 32), "damaged"},
		"group":                {[]byte{8, 8, 0x0b}, "damaged"},
		"graphs in graphs":     {onnxFile(deep), "more than 8 deep"},
		"unknown type":         {with(tensorOf("w", "none", []int64{1})), "data_type 0"},
		"negative dimension":   {with(tensorOf("w", "FLOAT", []int64{-1}, chunk(tensorRaw))), "more than a file can have"},
		"product overflows":    {with(tensorOf("w", "FLOAT", []int64{1 << 40, 1 << 40}, chunk(tensorRaw))), "more than a file can have"},
		"no data":              {with(tensorOf("w", "FLOAT", []int64{4})), "no data"},
		"too little data":      {with(tensorOf("w", "FLOAT", []int64{4}, chunk(tensorRaw, make([]byte, 8)))), "need 16"},
		"too few values":       {with(tensorOf("w", "INT32", []int64{1 << 40}, chunk(tensorInts, []byte{1}))), "cannot hold"},
		"too many dimensions":  {with(tensorOf("w", "FLOAT", make([]int64, 100))), "more than 32 dimensions"},
		"data above":           {with(tensorOf("w", "FLOAT", []int64{1}, external("location", "../../etc/passwd"))), "only files in the model's folder"},
		"data nowhere":         {with(tensorOf("w", "FLOAT", []int64{1}, external("offset", "0"))), "only files in the model's folder"},
		"absolute data":        {with(tensorOf("w", "FLOAT", []int64{1}, external("location", "/dev/sda"))), "only files in the model's folder"},
		"offset no number":     {with(tensorOf("w", "FLOAT", []int64{1}, external("location", "d", "offset", "x"))), `external_data offset is "x"`},
		"negative offset":      {with(tensorOf("w", "FLOAT", []int64{1}, external("location", "d", "offset", "-4"))), "must not be below 0"},
		"other length outside": {with(tensorOf("w", "FLOAT", []int64{1}, external("location", "d", "length", "8"))), "need 4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readONNX(bytes.NewReader(test.file), int64(len(test.file)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzONNX(f *testing.F) {
	f.Add(onnxFile(chunk(graphInitializer, tensorOf("w", "INT4", []int64{3}, chunk(tensorRaw, []byte{1, 2})))))
	f.Add(onnxFile(chunk(graphInitializer, tensorOf("w", "FLOAT", []int64{2}, external("location", "d", "offset", "4096", "length", "8")))))
	f.Add(onnxFile(chunk(graphNode, chunk(nodeAttribute, chunk(attributeGraph, chunk(graphInitializer, tensorOf("w", "FLOAT", nil, chunk(tensorFloats, make([]byte, 4)))))))))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := readONNX(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		for _, location := range slices.Sorted(maps.Keys(m.outside)) {
			if strings.HasPrefix(location, "/") || strings.Contains(location, "..") && slices.Contains(strings.Split(location, "/"), "..") {
				t.Errorf("data outside of the folder: %q", location)
			}
		}
		for _, x := range m.tensors {
			if x.Bytes < 0 || x.Elements < 0 {
				t.Errorf("negative: %v", x)
			}
		}
	})
}
