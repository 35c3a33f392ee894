package term

import (
	"cmp"
	"slices"
	"strings"
)

// Column is a column of a table of things of one kind.
type Column[T any] struct {
	Name string
	Cell func(*T) string
	// Number is what the column is sorted by, the largest first; where it is nil, cells are sorted as texts.
	Number func(*T) float64
	// Drop says when the column is left out where there is no room for all: the highest first, those of 0 never.
	Drop int
	// Wide says that the column is only in wide tables, Optional that it is left out where all its cells are empty or 0, Whole that its cells are never
	// shortened: what they begin and end with is the same for many.
	Wide, Optional, Whole bool
}

// Fit writes a table with as many of the columns as there is room for. Where there is none for those that are never left out, it has the narrow ones in place of
// all, should there be any.
func Fit[T any](p *Page, columns []Column[T], things []T, narrow ...Column[T]) {
	if len(narrow) > 0 && !p.Wide && least(columns, things) > p.Columns() {
		columns = narrow
	}
	shown := shownOf(p, columns, things)
	header, whole := make([]string, len(shown)), make([]bool, len(shown))
	rows := make([][]string, len(things))
	for i, at := range shown {
		header[i], whole[i] = columns[at].Name, columns[at].Whole
		for j := range things {
			rows[j] = append(rows[j], columns[at].Cell(&things[j]))
		}
	}
	if len(rows) > 0 {
		p.grid(header, rows, TableGap, whole)
	}
}

// least is how wide a table of the columns is that are never left out.
func least[T any](columns []Column[T], things []T) int {
	width := -TableGap
	for i := range columns {
		if c := &columns[i]; c.Drop == 0 && !c.Wide && (!c.Optional || !c.empty(things)) {
			width += c.width(things) + TableGap
		}
	}
	return width
}

// shownOf are the columns that a table has: those that are never left out, and of the others one after the other where there is room.
func shownOf[T any](p *Page, columns []Column[T], things []T) []int {
	var order []int
	for i := range columns {
		if c := &columns[i]; (p.Wide || !c.Wide) && (!c.Optional || !c.empty(things)) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(columns[a].Drop, columns[b].Drop) })
	var shown []int
	width := -TableGap
	for _, i := range order {
		wide := columns[i].width(things) + TableGap
		if p.Wide || columns[i].Drop == 0 || width+wide <= p.Columns() {
			shown, width = append(shown, i), width+wide
		}
	}
	slices.Sort(shown)
	return shown
}

// empty says whether a column says nothing of any of some things.
func (c *Column[T]) empty(things []T) bool {
	return !slices.ContainsFunc(things, func(t T) bool { cell := c.Cell(&t); return cell != "" && cell != "0" })
}

// width is how wide the column is where nothing in it is folded.
func (c *Column[T]) width(things []T) int {
	widest := columns(c.Name)
	for i := range things {
		widest = max(widest, columns(c.Cell(&things[i])))
	}
	return widest
}

// Key is the word by which a table is sorted by a column.
func (c *Column[T]) Key() string { return strings.ReplaceAll(strings.ToLower(c.Name), " ", "-") }

// Keys are the words by which a table can be sorted.
func Keys[T any](columns []Column[T]) []string {
	keys := make([]string, len(columns))
	for i := range columns {
		keys[i] = columns[i].Key()
	}
	return keys
}

// SortBy sorts things by the column of a key. What is equal stays in its order.
func SortBy[T any](things []T, columns []Column[T], key string) error {
	at := slices.Index(Keys(columns), key)
	if at < 0 {
		return Usagef("--sort-by %s: use one of %s", key, strings.Join(Keys(columns), ", "))
	}
	c := &columns[at]
	slices.SortStableFunc(things, func(a, b T) int {
		if c.Number != nil {
			return cmp.Compare(c.Number(&b), c.Number(&a))
		}
		return cmp.Compare(c.Cell(&a), c.Cell(&b))
	})
	return nil
}
