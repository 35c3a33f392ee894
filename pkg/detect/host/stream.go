package host

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rankwright/rankwright/internal/words"
)

// maxLastWords is how much of what a tool says before it fails is told, in bytes.
const maxLastWords = 512

// Stream implements Streamer. A tool that ends with its input cannot outlive this process.
func (c *liveCommands) Stream(ctx context.Context, tell func(line []byte) error, argv ...string) error {
	tool, err := c.find(argv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := c.command(ctx, tool, argv[1:])
	input, err := cmd.StdinPipe()
	if err != nil {
		return CommandError(argv, err)
	}
	defer func() { _ = input.Close() }()
	output, err := cmd.StdoutPipe()
	if err != nil {
		return CommandError(argv, err)
	}
	said := &cappedBuffer{limit: maxLastWords}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return CommandError(argv, err)
	}
	told := tellLines(output, tell)
	if told != nil {
		cancel() // it has ended, or nobody listens
	}
	ended := cmp.Or(cmd.Wait(), errors.New("it ended"))
	if said.data.Len() > 0 {
		ended = errors.Join(ended, errors.New(words.Cut(said.data.String(), maxLastWords)))
	}
	return CommandError(argv, errors.Join(told, ended))
}

// tellLines calls tell with every line of a text until one is too long or tell fails.
func tellLines(text io.Reader, tell func(line []byte) error) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLineSize)
	for number := 1; lines.Scan(); number++ {
		if err := tell(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return lines.Err()
}
