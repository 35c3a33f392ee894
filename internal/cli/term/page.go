package term

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Page is what is shown to people, put together before it is printed: writing on it cannot fail. The zero value is empty. What
// would be wider than the page is folded.
type Page struct {
	// Wide says that lines are never folded.
	Wide bool
	// Width is how many columns the terminal has; 0 stands for LineWidth.
	Width int

	text   strings.Builder
	parted bool // an empty line comes before what is written next
}

// Columns is how many columns a line has at most: that of a text is not read with ease where it is longer than LineWidth, however wide the terminal is.
func (p *Page) Columns() int {
	if p.Width <= 0 {
		return LineWidth
	}
	return min(max(p.Width, leastWidth), LineWidth)
}

// Terminal is how many columns nothing may exceed that can be shortened; 0 where it does not go to a terminal, since programs want names as they are.
func (p *Page) Terminal() int {
	if p.Width <= 0 {
		return 0
	}
	return max(p.Width, leastWidth)
}

// String returns what was written.
func (p *Page) String() string { return p.text.String() }

// Paragraph parts what comes next, should there be anything, from what stands above it, should there be anything.
func (p *Page) Paragraph() { p.parted = p.text.Len() > 0 }

// Line writes values with blanks between them.
func (p *Page) Line(values ...any) { p.write(p.folded(fmt.Sprintln(values...))) }

// Linef writes a line.
func (p *Page) Linef(format string, args ...any) { p.Line(fmt.Sprintf(format, args...)) }

// Raw writes a line that a program may read: it is never folded.
func (p *Page) Raw(line string) { p.write(line + "\n") }

// folded breaks the lines of a text that are too long.
func (p *Page) folded(text string) string {
	if p.Wide || len(text) <= p.Columns() {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); columns(line) > p.Columns() {
			line = strings.Join(Fold(line, p.Columns(), leading(line)+"  "), "\n")
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

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
// header it writes the rows alone, and without rows nothing. The longest cells of a table that is too wide have several lines.
func (p *Page) Table(header []string, rows [][]string) {
	if len(rows) > 0 {
		p.Grid(header, rows, TableGap)
	}
}

// Grid writes a header and rows, with columns that are gap blanks apart.
func (p *Page) Grid(header []string, rows [][]string, gap int) { p.grid(header, rows, gap, nil) }

// grid is Grid with columns whose cells stay whole.
func (p *Page) grid(header []string, rows [][]string, gap int, whole []bool) {
	if len(header) > 0 {
		rows = slices.Concat([][]string{header}, rows)
	}
	rows = printable(rows)
	if !p.Wide {
		in := room{p.Columns(), p.Terminal(), gap, whole, len(header) > 0}
		in.gap = in.closer(rows)
		rows, gap = foldRows(rows, in), in.gap
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 8, gap, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush() // it goes to memory
	for line := range strings.Lines(out.String()) {
		p.Raw(strings.TrimRight(line, " \n"))
	}
}

// printable is rows as they are printed: a dash stands for an empty cell.
func printable(rows [][]string) [][]string {
	made := make([][]string, len(rows))
	for i, row := range rows {
		made[i] = slices.Clone(row)
		for j, cell := range row {
			if made[i][j] = Printable(cell); cell == "" {
				made[i][j] = "-"
			}
		}
	}
	return made
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
		line := fmt.Sprintf("%-*s   %s", width, row[0]+":", value)
		if !p.Wide && columns(line) > p.Columns() {
			line = line[:width+3] + strings.Join(Fold(value, p.Columns()-width-3, ""), "\n"+strings.Repeat(" ", width+3))
		}
		p.Raw(line)
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
