// Reference writes the pages of docs/reference that are made from the product: its kinds, from their CustomResourceDefinitions, the values
// of the chart, the plugin's commands, and the flags of agent and operator. Usage: reference CRDS VALUES FOLDER.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	nodeagent "github.com/rankwright/rankwright/cmd/node-agent/command"
	operator "github.com/rankwright/rankwright/cmd/operator/command"
	"github.com/rankwright/rankwright/internal/cli"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: reference CRDS VALUES FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "reference: %v\n", err)
		os.Exit(1)
	}
}

func run(definitions, values, folder string) error {
	pages, err := readKinds(definitions)
	if err != nil {
		return err
	}
	if pages["values.md"], err = readValues(values); err != nil {
		return err
	}
	os.Clearenv() // some flags have their defaults from it
	pages["cli.md"] = commandPage(cli.Command())
	for _, program := range []*cobra.Command{nodeagent.New(io.Discard, io.Discard, nil), operator.New()} {
		pages[program.Name()+".md"] = programPage(program)
	}
	for name, text := range pages {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // documents
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // documents
			return err
		}
	}
	return nil
}
