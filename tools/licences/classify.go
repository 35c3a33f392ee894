// Package licences says under which licences the modules in a built program are, and describes the program as an SPDX
// document (a software bill of materials).
package licences

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ErrNotAllowed is wrapped where a licence is unknown or copyleft.
var ErrNotAllowed = errors.New("licence not allowed")

// phrase is a run of words that a text has, after normalisation, where it is under a licence. All of its parts must be
// there, in any place.
type phrase struct {
	id    string
	parts []string
}

// allowed are the licences by their own words (SPDX licence list, texts). A text may be under several.
var allowed = []phrase{
	{"Apache-2.0", []string{"apache license version 2 0 january 2004", "grant of patent license"}},
	{"Apache-2.0", []string{"licensed under the apache license version 2 0"}},
	{"ISC", []string{
		"permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted " +
			"provided that the above copyright notice and this permission notice appear in all copies",
	}},
	{"MIT", []string{
		"permission is hereby granted free of charge to any person obtaining a copy of this software and associated documentation files",
		"the above copyright notice and this permission notice shall be included in all copies or substantial portions",
	}},
	{"MPL-2.0", []string{"mozilla public license version 2 0", "each contributor hereby grants you a world wide royalty free non exclusive license"}},
}

// copyleft are phrases of licences that ask for the source of what they are linked with, or forbid uses. MPL-2.0 names the GPL as one
// that it is compatible with, and GPL texts by title and date, so that titles alone tell nothing.
var copyleft = []phrase{
	{"AGPL", []string{"gnu affero general public license version 3 19 november 2007"}},
	{"GPL", []string{"gnu general public license version 2 june 1991"}},
	{"GPL", []string{"gnu general public license version 3 29 june 2007"}},
	{"LGPL", []string{"gnu lesser general public license version 2 1 february 1999"}},
	{"LGPL", []string{"gnu lesser general public license version 3 29 june 2007"}},
	{"GPL", []string{"under the terms of the gnu general public license"}},
	{"LGPL", []string{"under the terms of the gnu lesser general public license"}},
	{"AGPL", []string{"under the terms of the gnu affero general public license"}},
	{"SSPL", []string{"server side public license"}},
	{"BUSL", []string{"business source license"}},
	{"CDDL", []string{"common development and distribution license"}},
	{"EPL", []string{"eclipse public license"}},
	{"EUPL", []string{"european union public licence"}},
	{"CC-BY-SA", []string{"creative commons attribution sharealike"}},
	{"CC-BY-NC", []string{"creative commons attribution noncommercial"}},
	{"BSD-4-Clause", []string{"all advertising materials mentioning features or use of this software"}},
	{"Commons Clause", []string{"commons clause license condition"}},
}

// Classify returns the SPDX identifiers of the licences in a text, sorted: MIT, BSD-2-Clause, BSD-3-Clause, Apache-2.0, ISC,
// MPL-2.0. Any other, and any that is copyleft, is an error that wraps ErrNotAllowed.
func Classify(text string) ([]string, error) {
	words := normalise(text)
	for _, p := range copyleft {
		if p.in(words) {
			return nil, fmt.Errorf("%w: %s (%q)", ErrNotAllowed, p.id, p.parts[0])
		}
	}
	ids := bsd(words)
	for _, p := range allowed {
		if p.in(words) {
			ids = append(ids, p.id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: unknown, it begins %q", ErrNotAllowed, beginning(words))
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func (p phrase) in(words string) bool {
	return !slices.ContainsFunc(p.parts, func(part string) bool { return !strings.Contains(words, part) })
}

// bsd tells the licences of two and three clauses apart by how often each clause stands there: a text may hold both.
func bsd(words string) []string {
	if !strings.Contains(words, "in binary form must reproduce the above copyright notice") {
		return nil
	}
	clauses := strings.Count(words, "of source code must retain the above copyright notice")
	endorsements := strings.Count(words, "to endorse or promote products derived from this software")
	var ids []string
	if endorsements > 0 {
		ids = append(ids, "BSD-3-Clause")
	}
	if clauses > endorsements {
		ids = append(ids, "BSD-2-Clause")
	}
	return ids
}

var noWord = regexp.MustCompile(`[^a-z0-9]+`)

// normalise leaves the words, in lower case, with one space between them: line breaks, comment marks, quotes and numbers
// of clauses differ between copies of one licence.
func normalise(text string) string {
	return strings.TrimSpace(noWord.ReplaceAllString(strings.ToLower(text), " "))
}

func beginning(words string) string {
	const n = 60
	return words[:min(len(words), n)]
}
