package cli

import (
	"fmt"
	"io"
	"os"
)

// maxInput is the size in bytes of a file or of standard input: the inventories of 10,000 nodes are below it.
const maxInput = 1 << 30

// stdinName stands for standard input among file names.
const stdinName = "-"

// readInput reads a file, or standard input for `-`.
func readInput(name string, streams Streams, limit int64) ([]byte, error) {
	in := streams.In
	if name != stdinName {
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
	streams.log().Info("read", "file", name, "bytes", len(content))
	return content, nil
}
