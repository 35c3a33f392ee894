package checkpoint

// onnxType is a TensorProto.DataType with its width in bits.
type onnxType struct {
	name string
	bits int64
}

// onnxTypes are the types by number (onnx/onnx.proto of onnx/onnx). STRING has no width.
var onnxTypes = map[uint64]onnxType{
	1: {"FLOAT", 32}, 2: {"UINT8", 8}, 3: {"INT8", 8}, 4: {"UINT16", 16}, 5: {"INT16", 16}, 6: {"INT32", 32}, 7: {"INT64", 64},
	8: {"STRING", 0}, 9: {"BOOL", 8}, 10: {"FLOAT16", 16}, 11: {"DOUBLE", 64}, 12: {"UINT32", 32}, 13: {"UINT64", 64},
	14: {"COMPLEX64", 64}, 15: {"COMPLEX128", 128}, 16: {"BFLOAT16", 16},
	17: {"FLOAT8E4M3FN", 8}, 18: {"FLOAT8E4M3FNUZ", 8}, 19: {"FLOAT8E5M2", 8}, 20: {"FLOAT8E5M2FNUZ", 8},
	21: {"UINT4", 4}, 22: {"INT4", 4}, 23: {"FLOAT4E2M1", 4}, 24: {"FLOAT8E8M0", 8}, 25: {"UINT2", 2}, 26: {"INT2", 2},
}
