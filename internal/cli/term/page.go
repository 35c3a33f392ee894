package term

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Page is what is shown to people, put together before it is printed: writing on it cannot fail. The zero value is empty.
type Page struct {
	text   strings.Builder
	parted bool // an empty line comes before what is written next
}

// String returns what was written.
func (p *Page) String() string { return p.text.String() }

// Paragraph parts what comes next, should there be anything, from what stands above it, should there be anything.
func (p *Page) Paragraph() { p.parted = p.text.Len() > 0 }

// Line writes values with blanks between them.
func (p *Page) Line(values ...any) { p.write(fmt.Sprintln(values...)) }

// Linef writes a line.
func (p *Page) Linef(format string, args ...any) { p.Line(fmt.Sprintf(format, args...)) }

func (p *Page) write(text string) {
	if p.parted {
		p.text.WriteByte('\n')
	}
	p.parted = false
	p.text.WriteString(text)
}

// TableGap is how many blanks stand between the columns of a table.
const TableGap = 3

// Table writes rows under a header as kubectl does: columns three blanks apart, nothing at the end of a line. Without a
// header it writes the rows alone, and without rows nothing.
func (p *Page) Table(header []string, rows [][]string) {
	if len(rows) > 0 {
		p.Grid(header, rows, TableGap)
	}
}

// Grid writes a header and rows, with columns that are gap blanks apart.
func (p *Page) Grid(header []string, rows [][]string, gap int) {
	var out strings.Builder
	columns := tabwriter.NewWriter(&out, 0, 8, gap, ' ', 0)
	if len(header) > 0 {
		rows = slices.Concat([][]string{header}, rows)
	}
	for _, row := range rows {
		cells := slices.Clone(row)
		for i, cell := range cells {
			if cells[i] = Printable(cell); cell == "" {
				cells[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	_ = columns.Flush() // it goes to memory
	for line := range strings.Lines(out.String()) {
		p.Line(strings.TrimRight(line, " \n"))
	}
}

// Rows makes a row of each entry of a list.
func Rows[T any](list []T, cells func(*T) []any) [][]string {
	rows := make([][]string, len(list))
	for i := range list {
		rows[i] = Row(cells(&list[i])...)
	}
	return rows
}

// Row makes a row of cells, which are printed as fmt.Print does.
func Row(cells ...any) []string {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = fmt.Sprint(cell)
	}
	return row
}

// Sheet writes names and values one below the other. A row without a name is left out.
func (p *Page) Sheet(rows [][2]string) {
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0])+1)
	}
	for _, row := range rows {
		if row[0] == "" {
			continue
		}
		value := row[1]
		if value == "" {
			value = "-"
		}
		p.Linef("%-*s   %s", width, row[0]+":", value)
	}
}

// RowIf returns a row of a sheet, or one that is left out.
func RowIf(there bool, name, value string) [2]string {
	if !there {
		return [2]string{}
	}
	return [2]string{name, value}
}

// Printable replaces what would move the cursor or change the terminal: names come from hardware and files.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, text)
}
