package licences

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Merge lists every module of the programs once, in order of paths and versions.
func Merge(programs []Program) []Module {
	var modules []Module
	for i := range programs {
		modules = append(modules, programs[i].Modules...)
	}
	slices.SortFunc(modules, func(a, b Module) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Version, b.Version))
	})
	return slices.CompactFunc(modules, func(a, b Module) bool { return a.Path == b.Path && a.Version == b.Version })
}

// WriteTable prints modules and their licences in columns.
func WriteTable(w io.Writer, modules []Module) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	rows := []string{"MODULE\tVERSION\tLICENCE\n"}
	for i := range modules {
		m := &modules[i]
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\n", m.Path, m.Version, m.Expression()))
	}
	if _, err := io.WriteString(table, strings.Join(rows, "")); err != nil {
		return err
	}
	return table.Flush()
}

// WriteNotices prints every text that must go with a copy of the programs. A text that many modules share is printed once.
func WriteNotices(w io.Writer, modules []Module) error {
	type shared struct {
		text    Text
		modules []string
	}
	var texts []*shared
	byContent := map[string]*shared{}
	for i := range modules {
		m := &modules[i]
		for _, text := range m.Texts {
			known := byContent[text.Content]
			if known == nil {
				known = &shared{text: text}
				byContent[text.Content] = known
				texts = append(texts, known)
			}
			known.modules = append(known.modules, m.Path+" "+m.Version)
		}
	}
	for _, s := range texts {
		for _, module := range s.modules {
			if _, err := fmt.Fprintf(w, "%s (%s)\n", module, s.text.Name); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "\n%s\n\n----------------------------------------\n\n", s.text.Content); err != nil {
			return err
		}
	}
	return nil
}
