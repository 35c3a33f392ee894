package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSafetensorsAreReadBack writes any tensors and reads them.
func TestSafetensorsAreReadBack(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(safetensorsBits))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9_."\\é]{1,40}`), 0, 12, rapid.ID[string]).Draw(t, "names")
		var entries []entry
		var want []Tensor
		for _, name := range names {
			e := entry{name: name, kind: rapid.SampledFrom(kinds).Draw(t, "kind"), shape: rapid.SliceOfN(rapid.Int64Range(0, 6), 0, 4).Draw(t, "shape")}
			// A multiple of 4 values is a whole number of bytes in every type.
			e.shape = append(e.shape, 4)
			entries = append(entries, e)
			elements, _ := product(e.shape)
			want = append(want, Tensor{Name: name, Type: e.kind, Shape: e.shape, Elements: elements, Bytes: elements * safetensorsBits[e.kind] / 8})
		}
		file := safetensorsFile(entries...)
		got, err := readSafetensors(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		sortTensors(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestSafetensorsRefusals(t *testing.T) {
	one := func(fields string) []byte { return rawSafetensors(`{"w":{`+fields+`}}`, 8) }
	tests := map[string]struct {
		file []byte
		want string
	}{
		"nothing":             {nil, "cut off"},
		"length alone":        {make([]byte, 8), "no JSON object"},
		"header too long":     {binary.LittleEndian.AppendUint64(nil, 1<<62), "the format allows 100000000"},
		"header past the end": {append(binary.LittleEndian.AppendUint64(nil, 1000), '{'), "cut off"},
		"no JSON":             {rawSafetensors(`{"w":`, 0), "damaged"},
		"a list":              {rawSafetensors(`[]`, 0), "no JSON object"},
		"more after it":       {rawSafetensors(`{} {}`, 0), "more after"},
		"unknown type":        {one(`"dtype":"F128","shape":[1],"data_offsets":[0,8]`), `dtype "F128" is not known`},
		"negative dimension":  {one(`"dtype":"U8","shape":[-8],"data_offsets":[0,8]`), "damaged"},
		"product overflows":   {one(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,8]`), "no whole number of bytes"},
		"bits overflow":       {one(`"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,8]`), "no whole number of bytes"},
		"half a byte":         {one(`"dtype":"F4","shape":[3],"data_offsets":[0,1]`), "no whole number of bytes"},
		"size disagrees":      {one(`"dtype":"F32","shape":[1],"data_offsets":[0,8]`), "needs 4"},
		"one offset":          {one(`"dtype":"U8","shape":[8],"data_offsets":[8]`), "two offsets"},
		"offsets turned":      {one(`"dtype":"U8","shape":[8],"data_offsets":[8,0]`), "two offsets"},
		"offset no number":    {one(`"dtype":"U8","shape":[8],"data_offsets":["0",8]`), "damaged"},
		"offset too large":    {one(`"dtype":"U8","shape":[8],"data_offsets":[0,18446744073709551616]`), "damaged"},
		"gap":                 {one(`"dtype":"U8","shape":[4],"data_offsets":[4,8]`), "nor leave gaps"},
		"data cut off":        {rawSafetensors(`{"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`, 7), "cut off"},
		"data left over":      {rawSafetensors(`{"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`, 9), "more than its header says"},
		"overlap":             {rawSafetensors(`{"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), "neither overlap"},
		"name twice":          {rawSafetensors(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), "there twice"},
		"too many dimensions": {one(`"dtype":"U8","shape":[1` + strings.Repeat(",1", maxRank) + `],"data_offsets":[0,1]`), "33 dimensions"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tensors, err := readSafetensors(bytes.NewReader(test.file), int64(len(test.file)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%d tensors, error %v; want %q", len(tensors), err, test.want)
			}
		})
	}
}

func TestIndexRefusals(t *testing.T) {
	tests := map[string]struct{ content, want string }{
		"no JSON":         {`{"weight_map":{"w"`, "no JSON"},
		"cut off":         {`{"weight_map":{"w":"a"`, "no JSON"},
		"no object":       {`[]`, "weight_map is empty"},
		"no map":          {`{}`, "weight_map is empty"},
		"nothing in it":   {`{"weight_map":{}}`, "weight_map is empty"},
		"a list of pairs": {`{"weight_map":[]}`, "no JSON object"},
		"tensor twice":    {`{"weight_map":{"w":"a","w":"b"}}`, `"w" twice`},
		"folder above":    {`{"weight_map":{"w":"../other.safetensors"}}`, "only files beside the index"},
		"absolute":        {`{"weight_map":{"w":"/etc/shadow"}}`, "only files beside the index"},
		"folder within":   {`{"weight_map":{"w":"a/b.safetensors"}}`, "only files beside the index"},
		"the folder":      {`{"weight_map":{"w":"."}}`, "only files beside the index"},
		"a file of none":  {`{"weight_map":{"w":7}}`, "no JSON"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := parseIndex([]byte(test.content)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(safetensorsFile(entry{"model.layers.0.a.weight", "BF16", []int64{2, 3}}, entry{"b", "F4", []int64{4}}))
	f.Add(rawSafetensors(`{"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<62))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, err := readSafetensors(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			checkHeld(t, tensors, int64(len(file)))
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata":{"total_size":8},"weight_map":{"w":"model-00001-of-00001.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"w":"../other.safetensors"}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		x, err := parseIndex(content)
		if err != nil {
			return
		}
		for name, file := range x.where {
			if !slices.Contains(x.files, file) || strings.ContainsAny(file, `/\`) {
				t.Errorf("tensor %q is in %q, the files are %v", name, file, x.files)
			}
		}
	})
}

// checkHeld holds tensors to what any file obeys: they fit into it and nothing is negative.
func checkHeld(t *testing.T, tensors []Tensor, size int64) {
	t.Helper()
	var sum int64
	for _, x := range tensors {
		if x.Bytes < 0 || x.Elements < 0 {
			t.Fatalf("negative: %v", x)
		}
		if sum = add(sum, x.Bytes); sum > size {
			t.Fatalf("%d bytes of tensors in a file of %d: %s", sum, size, fmt.Sprint(x))
		}
	}
}
