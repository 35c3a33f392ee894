package facts

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"
)

// Row is a row of a table that comes with the code, by the names of its columns.
type Row struct {
	t     testing.TB
	cells map[string]string
}

// Table reads a table of published numbers in a package's testdata: a CSV whose first row names the columns. It fails the test
// where a row does not say where its numbers were published.
func Table(t testing.TB, path string) []Row {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	rows := make([]Row, len(records)-1)
	for i, record := range records[1:] {
		rows[i] = Row{t, map[string]string{}}
		for j, column := range records[0] {
			rows[i].cells[column] = record[j]
		}
		if rows[i].cells["source"] == "" {
			t.Fatalf("%s: row %d does not say where it was published", path, i+1)
		}
	}
	return rows
}

// Text returns the row's cell in a column. A column that the table lacks fails the test.
func (r Row) Text(column string) string {
	r.t.Helper()
	text, ok := r.cells[column]
	if !ok {
		r.t.Fatalf("the table has no column %q", column)
	}
	return text
}

// Number returns the number in the row's cell of a column; 0 where the cell is empty.
func (r Row) Number(column string) float64 {
	r.t.Helper()
	text := r.Text(column)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.t.Fatalf("%s: %v", column, err)
	}
	return n
}

// Whole returns the whole number in the row's cell of a column; 0 where the cell is empty.
func (r Row) Whole(column string) int64 { return int64(r.Number(column)) }
