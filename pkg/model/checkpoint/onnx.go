package checkpoint

import (
	"errors"
	"fmt"
	"io"

	"github.com/rankwright/rankwright/internal/words"
)

const (
	// maxONNX is the size in bytes of a protobuf, which its libraries refuse beyond; larger models store their data outside.
	maxONNX = 2 << 30
	// maxFields is how many fields of a file are read.
	maxFields = 1 << 24
	// maxGraphs is how deep graphs lie in the attributes of nodes (branches and loops).
	maxGraphs = 8
	// maxIRVersion is far above those that were published, which count up by one every year or so.
	maxIRVersion = 64
)

// Numbers of fields in the messages of onnx/onnx.proto.
const (
	modelIRVersion = 1
	modelGraph     = 7

	graphNode        = 1
	graphInitializer = 5
	graphSparse      = 15

	nodeAttribute = 5

	attributeTensor  = 5
	attributeGraph   = 6
	attributeTensors = 10
	attributeGraphs  = 11

	sparseValues  = 1
	sparseIndices = 2
)

// onnxModel is what an ONNX file says.
type onnxModel struct {
	tensors []Tensor
	// outside are the tensors whose data lies in other files, by the file's name.
	outside map[string][]span
}

// readONNX reads the initialisers of a model's graph, of the graphs in its branches, and the tensors of its nodes.
func readONNX(in io.ReaderAt, size int64) (*onnxModel, error) {
	if size > maxONNX {
		return nil, fmt.Errorf("the file has %d bytes: a protocol buffer has at most %d", size, int64(maxONNX))
	}
	budget := maxFields
	root := &message{window: &window{in: in, size: size}, end: size, budget: &budget}
	m := &onnxModel{outside: map[string][]span{}}
	var version uint64
	var graphs int
	err := root.each(func(f field) error {
		switch {
		case f.number == modelIRVersion && f.kind == wireVarint:
			version = f.value
		case f.number == modelGraph && f.kind == wireBytes:
			graphs++
			return m.read(graphPart, root.inner(f), 0)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case version < 1 || version > maxIRVersion:
		return nil, fmt.Errorf("ir_version is %d: versions up to %d are read", version, maxIRVersion)
	case graphs != 1:
		return nil, fmt.Errorf("%d graphs: a model has one", graphs)
	}
	sortTensors(m.tensors)
	return m, nil
}

// part is a kind of message within the model's graph.
type part int

const (
	graphPart part = iota
	nodePart
	attributePart
	sparsePart
	tensorPart
)

// parts are the fields of each part that hold others: the initialisers of a graph and of the graphs in its branches, the
// values and indices of sparse ones, and the tensors of nodes.
var parts = map[part]map[uint64]part{
	graphPart: {graphNode: nodePart, graphInitializer: tensorPart, graphSparse: sparsePart},
	nodePart:  {nodeAttribute: attributePart},
	attributePart: {
		attributeTensor: tensorPart, attributeTensors: tensorPart, attributeGraph: graphPart, attributeGraphs: graphPart,
	},
	sparsePart: {sparseValues: tensorPart, sparseIndices: tensorPart},
}

// read reads the tensors of a part that lies in so many graphs.
func (m *onnxModel) read(of part, in *message, depth int) error {
	switch of {
	case tensorPart:
		return m.tensor(in)
	case graphPart:
		depth++
	}
	if depth > maxGraphs {
		return fmt.Errorf("graphs lie more than %d deep in one another: the file is damaged", maxGraphs)
	}
	return in.each(func(f field) error {
		inner, known := parts[of][f.number]
		if !known || f.kind != wireBytes {
			return nil
		}
		return m.read(inner, in.inner(f), depth)
	})
}

func (m *onnxModel) tensor(t *message) error {
	if len(m.tensors) >= maxTensors {
		return errTooMany
	}
	proto, err := readTensorProto(t)
	if err != nil {
		return err
	}
	made, err := proto.tensor()
	if err != nil {
		return fmt.Errorf("tensor %q: %w", words.Echo(proto.name), err)
	}
	m.tensors = append(m.tensors, made)
	if proto.external {
		e, err := proto.extent(made.Bytes)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", words.Echo(proto.name), err)
		}
		m.outside[proto.location] = append(m.outside[proto.location], e)
	}
	return nil
}

var errNoData = errors.New("the tensor has no data: the file is damaged")
