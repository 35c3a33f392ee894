// Command player is a vendor's tool in tests: under that tool's name it prints what the tool printed on a recorded host. As
// the tool does it needs the vendor's device nodes, and fails where they are not there or may not be opened.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// commandsName has the recording's commands.
const commandsName = "/var/lib/player/commands.jsonl"

// nodes are the patterns of the device nodes that a tool opens.
var nodes = map[string][]string{
	"amd-smi":    {"/dev/kfd", "/dev/dri/renderD*"},
	"hl-smi":     {"/dev/accel/accel*"},
	"neuron-ls":  {"/dev/neuron*"},
	"npu-smi":    {"/dev/davinci_manager", "/dev/davinci[0-9]*"},
	"nvidia-smi": {"/dev/nvidiactl", "/dev/nvidia[0-9]*"},
}

// command is a line of a recording's commands.jsonl.
type command struct {
	Argv     []string
	ExitCode int
	Stdout   string
	Stderr   string
}

func main() {
	os.Exit(run(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), "/", os.Stdout, os.Stderr))
}

// run plays the command line on the file tree at root and returns the exit code.
func run(argv []string, root string, stdout, stderr io.Writer) int {
	played, err := recorded(filepath.Join(root, commandsName), argv)
	if err == nil {
		err = openAll(root, nodes[argv[0]])
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", argv[0], err)
		return 1
	}
	_, _ = io.WriteString(stdout, played.Stdout)
	_, _ = io.WriteString(stderr, played.Stderr)
	return played.ExitCode
}

func recorded(name string, argv []string) (command, error) {
	file, err := os.Open(name) //nolint:gosec // the recording's own
	if err != nil {
		return command{}, err
	}
	defer func() { _ = file.Close() }()
	for decoder := json.NewDecoder(bufio.NewReader(file)); ; {
		var c command
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return c, fmt.Errorf("%q is not in the recording", argv)
		} else if err != nil {
			return c, err
		}
		if slices.Equal(c.Argv, argv) {
			return c, nil
		}
	}
}

// openAll opens every device node; a pattern without any is an error.
func openAll(root string, patterns []string) error {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no device %s", pattern)
		}
		for _, name := range found {
			file, err := os.OpenFile(name, os.O_RDWR, 0) //nolint:gosec // a device of the test's node
			if err != nil {
				return err
			}
			_ = file.Close()
		}
	}
	return nil
}
