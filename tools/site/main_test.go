package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"a page":              {`<a href="./use/">use</a>`, ""},
		"a heading":           {`<a href="./use/#top">top</a> <a href=#own>own</a> <h2 id=own>`, ""},
		"a file":              {`<a href="./use/a.svg">a</a> <img src="./use/a.svg"> <link rel="icon" href="data:,">`, ""},
		"elsewhere":           {`<a href="https://example.com/">click</a>`, ""},
		"no page":             {`<a href="./away/">x</a>`, "index.html: no page ./away/"},
		"no heading":          {`<a href="./use/#none">x</a>`, "index.html: use/index.html has no none"},
		"no heading here":     {`<a href="#none">x</a>`, "index.html: index.html has no none"},
		"no picture":          {`<a href="./use/">x</a><img alt="b" src="b.svg">`, "index.html: no page b.svg"},
		"fetched elsewhere":   {`<a href="./use/">x</a><script src="https://example.com/a.js"></script>`, "index.html fetches https://example.com/a.js"},
		"no scheme":           {`<a href="./use/">x</a><link rel="stylesheet" href="//example.com/a.css">`, "index.html fetches //example.com/a.css"},
		"nothing that is one": {"text", "no link is found"},
	} {
		t.Run(name, func(t *testing.T) {
			pages, err := read(fstest.MapFS{
				"index.html":     {Data: []byte(c.page)},
				"use/index.html": {Data: []byte(`<h2 id="top">Top</h2>`)},
				"use/a.svg":      {},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := pages.check(); err != nil {
				got = err.Error()
			}
			if got = strings.TrimSpace(got); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
