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
	said := &lastWords{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return CommandError(argv, err)
	}
	told := tellLines(output, tell)
	if told != nil {
		cancel() // it has ended, or nobody listens
	}
	ended := cmp.Or(cmd.Wait(), errors.New("it ended"))
	return CommandError(argv, errors.Join(told, ended, said.err()))
}

// tellLines calls tell with every line of a text until one is too long or tell fails.
func tellLines(text io.Reader, tell func(line []byte) error) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, MaxLineSize)
	for number := 1; lines.Scan(); number++ {
		if err := tell(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return lines.Err()
}

// lastWords keeps the first bytes of what a tool says on its error output.
type lastWords struct{ said []byte }

// Write implements io.Writer; what is too much is dropped.
func (w *lastWords) Write(p []byte) (int, error) {
	w.said = append(w.said, p[:min(len(p), maxLastWords-len(w.said))]...)
	return len(p), nil
}

func (w *lastWords) err() error {
	if len(w.said) == 0 {
		return nil
	}
	return errors.New(words.Cut(string(w.said), maxLastWords))
}
