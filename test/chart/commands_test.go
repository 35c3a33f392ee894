package chart

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/test/document"
)

// without are what Helm cannot do as a client alone, and what it is told in their place.
var without = map[string][]string{
	"install": {"--dry-run=client"}, "upgrade": {"--install", "--dry-run=client"}, "uninstall": {"--dry-run"}, "test": nil, "lint": nil,
}

// unreached are what Helm says where a release or a registry is not there, which no test has.
var unreached = regexp.MustCompile(`release: not found|no such host|server misbehaving|connection refused|dial tcp`)

// TestDocumentedHelm has Helm do what the documents and examples tell it to, as a client alone: commands and flags are Helm's, and the chart takes and
// renders the values.
func TestDocumentedHelm(t *testing.T) {
	run := 0
	for _, c := range document.Commands(t) {
		if c.Program != "helm" {
			continue
		}
		run++
		more, known := without[c.Words[1]]
		if !known {
			t.Errorf("%s: helm %s has no row in without", c, c.Words[1])
			continue
		}
		args := slices.Clone(c.Words[1:])
		if c.Inline && len(args) == 1 {
			args = append(args, "--help")
		} else {
			args = append(args, more...)
		}
		for i, word := range args {
			switch {
			case word == "charts/rankwright":
				args[i] = chartDir(t)
			case strings.HasPrefix(word, "examples/"):
				args[i] = root(t) + "/" + word
			}
		}
		if c.Inline && slices.Contains(args, "--dry-run=client") && !slices.Contains(args, "rankwright") {
			args = append(args, release, chartDir(t))
		}
		if _, said, err := helm(t, args...); err != nil && !unreached.MatchString(said) {
			t.Errorf("%s: %v: %s", c, err, said)
		}
	}
	if run < 12 {
		t.Errorf("%d commands of Helm: they are not found any more", run)
	}
}
