package main

import (
	"fmt"
	"regexp"
	"strings"
)

// page is a document in Markdown.
type page struct{ strings.Builder }

func (p *page) printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format, args...) }

// title begins the page.
func (p *page) title(text string) {
	p.printf("# %s\n\n<!-- Made by `make generate`; do not edit. -->\n", text)
}

func (p *page) heading(level int, text string) {
	p.printf("\n%s %s\n", strings.Repeat("#", level), text)
}

func (p *page) paragraph(text string) {
	if text != "" {
		p.printf("\n%s\n", text)
	}
}

// help is what a command says of itself: paragraphs, and blocks that are indented.
func (p *page) help(text string) {
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			p.code("text", paragraph)
		} else {
			p.paragraph(escape(paragraph))
		}
	}
}

// code is a block of text as it stands, without the indentation that all lines share.
func (p *page) code(language, text string) {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	shared := ""
	for _, line := range lines {
		if indent := line[:len(line)-len(strings.TrimLeft(line, " "))]; line != "" && (shared == "" || len(indent) < len(shared)) {
			shared = indent
		}
	}
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], shared)
	}
	p.printf("\n```%s\n%s\n```\n", language, strings.Join(lines, "\n"))
}

func (p *page) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.printf("\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`)
		}
		p.printf("| %s |\n", strings.Join(cells, " | "))
	}
}

var dropped = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchor is the fragment by which GitHub and Hugo find a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// escape keeps text from being read as markup, but for what is in backticks.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
