package host

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
)

// Text returns what ReadText does of a file in a folder; empty where the file is not there or cannot be read.
func Text(files Files, folder, name string) string {
	text, _, _ := ReadText(files, path.Join(folder, name))
	return text
}

// Cell is what a matrix says of a row and a column, by their labels.
type Cell struct{ Row, Column, Word string }

// maxCells is far above the cells of a host's devices.
const maxCells = 1 << 16

// Matrix reads a matrix that a tool prints: a line of labels, then a line for each row with its label and a word for every column.
// Words are divided by space or bars. Columns without a label come last. A row that breaks off is left out, and so is what follows
// more cells than any matrix has.
func Matrix(text string, isLabel func(word string) bool) []Cell {
	var columns []string
	var cells []Cell
	for line := range strings.Lines(text) {
		words := strings.Fields(strings.ReplaceAll(line, "|", " "))
		switch {
		case len(words) == 0 || !isLabel(words[0]):
		case len(words) == 1 || isLabel(words[1]):
			columns = slices.DeleteFunc(words, func(word string) bool { return !isLabel(word) })
		case len(words) > len(columns) && len(cells) < maxCells:
			for i, column := range columns {
				cells = append(cells, Cell{words[0], column, words[i+1]})
			}
		}
	}
	return cells
}

// DecodeJSON reads a document into a value; fields that are of another kind than they should be are left as they are, and cost the
// others nothing.
func DecodeJSON(document []byte, into any) error {
	err := json.Unmarshal(document, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}
