// Package checkpoint reads what the files of a model say about it without loading a weight: safetensors and its index, GGUF,
// ONNX, PyTorch archives, and the config.json beside them. A file is known by its content, whatever its name.
//
// Files are hostile until proven otherwise: every length, offset and count is checked against the file before it is used,
// headers are bounded, nothing is decompressed and nothing is unpickled. Only the file system that is passed in is read.
package checkpoint
