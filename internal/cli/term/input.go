package term

import (
	"fmt"
	"io"
	"os"
)

// MaxInput is the size in bytes of a file or of standard input: the inventories of 10,000 nodes are below it.
const MaxInput = 1 << 30

// StdinName stands for standard input among file names.
const StdinName = "-"

// ReadInput reads a file, or standard input for `-`.
func ReadInput(name string, streams Streams, limit int64) ([]byte, error) {
	in := streams.In
	if name != StdinName {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes: give a smaller file", name, limit)
	}
	streams.Log().Info("read", "file", name, "bytes", len(content))
	return content, nil
}
