package checkpoint

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Format is how a model's weights are stored.
type Format string

// The formats that are recognised.
const (
	Safetensors Format = "safetensors"
	GGUF        Format = "GGUF"
	ONNX        Format = "ONNX"
	PyTorch     Format = "PyTorch"
	// Config is a config.json without weights.
	Config Format = "config.json"
)

// Checkpoint is what the files of a model say.
type Checkpoint struct {
	// Name is GGUF's general.name, else the name of the folder or file.
	Name   string
	Format Format
	// Files are the files that hold the weights, sorted by name.
	Files []File
	// Tensors are sorted by name. A PyTorch archive has storages instead, whose types only its pickle says.
	Tensors []Tensor
	// Precision is the format that most weights are stored in; empty where the files do not tell.
	Precision v1alpha1.Precision
	// Config is the config.json beside the weights or what GGUF's metadata says in its words; nil where there is neither.
	Config []byte
	// Warnings tell what was left out or is in doubt, a sentence each.
	Warnings []string

	// where is the file of each tensor, for safetensors.
	where map[string]string
}

// File is a file of a checkpoint with its size in bytes.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Tensor is an entry of a header.
type Tensor struct {
	Name string `json:"name"`
	// Type is the format's own name of the stored type: BF16, Q4_K, FLOAT16; `storage` in a PyTorch archive.
	Type string `json:"type"`
	// Shape has the outermost dimension first, as in PyTorch; GGUF's order is turned round.
	Shape []int64 `json:"shape"`
	// Elements is the number of stored values, Bytes what they take.
	Elements int64 `json:"elements"`
	Bytes    int64 `json:"bytes"`
	// Parameters is the number of weights: several for each value of a packed format, none for scales and buffers.
	Parameters int64 `json:"parameters"`
}

// Limits on what is read. Published models are far below: the tensors of DeepSeek-V3, scales included, are a tenth of these.
const (
	// maxTensors is how many tensors a checkpoint may have in all.
	maxTensors = 1 << 20
	// maxRank is how many dimensions a tensor may have.
	maxRank = 32
	// maxName is the length in bytes of a tensor's name.
	maxName = 4096
)

// Parameters counts the weights of the checkpoint; 0 where its files do not tell (PyTorch).
func (c *Checkpoint) Parameters() int64 { return c.all().Parameters }

// Bytes returns the bytes of the tensors, scales and buffers included, headers excluded.
func (c *Checkpoint) Bytes() int64 { return c.all().Bytes }

func (c *Checkpoint) all() (sum Share) {
	for i := range c.Tensors {
		sum = sum.with(&c.Tensors[i])
	}
	return sum
}

// Share is a part of a checkpoint.
type Share struct {
	Tensors    int   `json:"tensors"`
	Parameters int64 `json:"parameters"`
	Bytes      int64 `json:"bytes"`
}

func (s Share) with(t *Tensor) Share {
	return Share{s.Tensors + 1, add(s.Parameters, t.Parameters), add(s.Bytes, t.Bytes)}
}

// shares sums tensors by a key.
func shares[K comparable](tensors []Tensor, key func(*Tensor) K) map[K]Share {
	sums := map[K]Share{}
	for i := range tensors {
		at := key(&tensors[i])
		sums[at] = sums[at].with(&tensors[i])
	}
	return sums
}

// TypeShare is the share of the tensors of one stored type.
type TypeShare struct {
	Type string `json:"type"`
	Share
}

// ByType sums the tensors by stored type, largest first.
func (c *Checkpoint) ByType() []TypeShare {
	list := []TypeShare{}
	for kind, share := range shares(c.Tensors, func(t *Tensor) string { return t.Type }) {
		list = append(list, TypeShare{kind, share})
	}
	slices.SortFunc(list, func(a, b TypeShare) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Type, b.Type))
	})
	return list
}

func (c *Checkpoint) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// product multiplies dimensions; false where one is negative or the product is no int64.
func product(dims []int64) (int64, bool) {
	// A zero anywhere makes an empty tensor, however large the others are.
	if slices.Contains(dims, 0) {
		return 0, !slices.ContainsFunc(dims, func(d int64) bool { return d < 0 })
	}
	all := int64(1)
	for _, d := range dims {
		if d < 0 {
			return 0, false
		}
		high, low := bits.Mul64(uint64(all), uint64(d))
		if high > 0 || low > math.MaxInt64 {
			return 0, false
		}
		all = int64(low)
	}
	return all, true
}

// add is a+b for values that are not negative, saturated at the largest int64.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
