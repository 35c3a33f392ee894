package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readValues makes the page of the chart's values from the comments of its values.yaml.
func readValues(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return valuesPage(document.Content[0])
}

// value is one or several that a comment speaks of, with their defaults.
type value struct {
	names, defaults []string
	about           string
}

// valuesPage has a section for each value at the top.
func valuesPage(root *yaml.Node) (string, error) {
	var p page
	p.title("Values of the chart")
	p.paragraph("`--set NAME=VALUE`, or a file with `--values`. [Installation](../operate/install.md) says which matter first.")
	for i := 0; i < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		p.heading(2, key.Value)
		text := comment(key)
		values, err := collect(nil, key.Value, node, text)
		if err != nil {
			return "", err
		}
		if len(values) == 1 && values[0].about == text { // a value and no group of them
			prose(&p, text)
			values[0].about = ""
		}
		rows := [][]string{}
		for _, v := range values {
			rows = append(rows, []string{code(v.names), code(v.defaults), escape(v.about)})
		}
		p.table([]string{"value", "default", "what it is"}, rows)
	}
	return p.String(), nil
}

// collect appends the values below a path. One without a comment shares that of the value before it.
func collect(values []value, path string, node *yaml.Node, about string) ([]value, error) {
	if !describes(node) {
		standard, err := inline(node)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if about == "" && len(values) > 0 {
			last := &values[len(values)-1]
			last.names, last.defaults = append(last.names, path), append(last.defaults, standard)
			return values, nil
		}
		return append(values, value{[]string{path}, []string{standard}, about}), nil
	}
	if about != "" && comment(node.Content[0]) != "" { // it speaks of the whole group
		values = append(values, value{[]string{path}, nil, about})
	}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		text := comment(key)
		if i == 0 && text == "" {
			text = about
		}
		var err error
		if values, err = collect(values, path+"."+key.Value, node.Content[i+1], text); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// describes says whether a mapping has comments of its own, so that its values are rows.
func describes(node *yaml.Node) bool {
	for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
		if comment(node.Content[i]) != "" || describes(node.Content[i+1]) {
			return true
		}
	}
	return false
}

var hash = regexp.MustCompile(`(?m)^# ?`)

// comment is what stands above a key, up to it: what an empty line parts from it is about the file.
func comment(key *yaml.Node) string {
	paragraphs := strings.Split(key.HeadComment, "\n\n")
	return hash.ReplaceAllString(paragraphs[len(paragraphs)-1], "")
}

// prose is a comment of several paragraphs, whose indented lines are code.
func prose(p *page, text string) {
	var block []string
	isCode := func(line string) bool { return strings.HasPrefix(line, "  ") }
	flush := func() {
		if len(block) == 0 {
			return
		}
		if joined := strings.Join(block, "\n"); isCode(block[0]) {
			p.code("yaml", joined)
		} else {
			p.paragraph(escape(joined))
		}
		block = nil
	}
	for _, line := range strings.Split(text, "\n") {
		if len(block) > 0 && isCode(block[0]) != isCode(line) {
			flush()
		}
		block = append(block, line)
	}
	flush()
}

// inline is a value on one line.
func inline(node *yaml.Node) (string, error) {
	flow(node)
	text, err := yaml.Marshal(node)
	return strings.Join(strings.Fields(string(text)), " "), err
}

func flow(node *yaml.Node) {
	node.Style |= yaml.FlowStyle
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	for _, inner := range node.Content {
		flow(inner)
	}
}

func code(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "`" + strings.Join(list, "`, `") + "`"
}
