package model

import (
	"regexp"
	"strconv"
	"strings"
)

// patterns are the names of modules in a quantization_config. A name stands for every module whose dotted name has it
// between dots, with * for anything; a name after "re:" is a regular expression for the start of the whole name, as
// compressed-tensors matches it.
type patterns struct {
	names       map[string]bool
	globs       []glob
	expressions []*regexp.Regexp
}

// maxExpressions is how many names with signs of their own are read; the many names of long lists have none.
const maxExpressions = 256

// parsePatterns reads the names and says how many could not be read.
func parsePatterns(list []any) (p patterns, unread int) {
	p.names = map[string]bool{}
	for _, v := range list {
		name, _ := v.(string)
		text, isExpression := strings.CutPrefix(name, "re:")
		switch {
		case name == "" || len(p.expressions)+len(p.globs) == maxExpressions:
			unread++
		case isExpression:
			compiled, err := regexp.Compile("^(?:" + text + ")")
			if err != nil {
				unread++
				continue
			}
			p.expressions = append(p.expressions, compiled)
		case strings.Contains(name, "*"):
			p.globs = append(p.globs, strings.Split(withoutTower(name), "*"))
		default:
			p.names[withoutTower(name)] = true
		}
	}
	return p, unread
}

// glob is the parts of a name between signs for anything.
type glob []string

// match says whether the glob stands for what begins at the start of a dotted name and ends before a dot or with it.
func (g glob) match(name string) bool {
	rest, ok := strings.CutPrefix(name, g[0])
	if !ok {
		return false
	}
	last := g[len(g)-1]
	for _, part := range g[1 : len(g)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	for last != "" {
		at := strings.Index(rest, last)
		if at < 0 {
			return false
		}
		rest = rest[at+len(last):]
		if rest == "" || rest[0] == '.' {
			return true
		}
	}
	return true
}

// withoutTower drops what multimodal models put before the names of their language model's modules.
func withoutTower(name string) string {
	for _, prefix := range []string{"model.language_model.", "language_model.model.", "language_model.", "backbone."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return strings.TrimPrefix(name, "model.")
}

// match says whether one of the patterns stands for a module.
func (p *patterns) match(module string) bool {
	for _, e := range p.expressions {
		if e.MatchString("model."+module) || e.MatchString(module) {
			return true
		}
	}
	for start := 0; start >= 0; start = after(module, start) {
		for _, g := range p.globs {
			if g.match(module[start:]) {
				return true
			}
		}
		for end := start; end < len(module); {
			next := strings.IndexByte(module[end+1:], '.')
			if next < 0 {
				end = len(module)
			} else {
				end += 1 + next
			}
			if p.names[module[start:end]] {
				return true
			}
		}
	}
	return false
}

// after is where the part of a dotted name after the one at start begins; -1 after the last.
func after(name string, start int) int {
	next := strings.IndexByte(name[start:], '.')
	if next < 0 {
		return -1
	}
	return start + next + 1
}

// matchModule says whether one of the patterns stands for a module of a layer under one of its names.
func (p *patterns) matchModule(m module, layer int) bool {
	if len(p.names)+len(p.globs)+len(p.expressions) == 0 {
		return false
	}
	for _, name := range moduleNames[m] {
		if p.match("layers." + strconv.Itoa(layer) + "." + name) {
			return true
		}
	}
	return false
}
