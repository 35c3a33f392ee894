// Dashboards writes the chart's dashboards for Grafana into a folder. It is a module of its own, so that the product needs nothing of
// Grafana's. Usage: dashboards FOLDER.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards FOLDER")
		os.Exit(2)
	}
	for _, b := range []board{fleet, node, placement, operator} {
		if err := write(os.Args[1], &b); err != nil {
			fmt.Fprintf(os.Stderr, "dashboards: %s: %v\n", b.name, err)
			os.Exit(1)
		}
	}
}

func write(folder string, b *board) error {
	made, err := b.build()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, b.name+".json"), append(text, '\n'), 0o644)
}
