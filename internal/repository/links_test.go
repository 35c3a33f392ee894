package repository

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// link is a link of Markdown to a file, to a heading, or to a heading of a file.
	link = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)
	// fence begins and ends a block of code.
	fence = regexp.MustCompile("(?s)\n *```.*?\n *```")
	// codeSpan is code in a line.
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// unanchored is what the fragment of a heading leaves out of its text.
	unanchored = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	linked     = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// document is a file of Markdown: the headings that one can link to, and the files that it links to.
type document struct {
	anchors []string
	links   [][]string
}

func readDocument(t *testing.T, path string) document {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := fence.ReplaceAllString(string(content), "")
	return document{anchorsOf(text), link.FindAllStringSubmatch(codeSpan.ReplaceAllString(text, ""), -1)}
}

// anchorsOf are the fragments that GitHub and Hugo make of headings, which count those that are alike.
func anchorsOf(text string) []string {
	var anchors []string
	seen := map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		words := strings.ToLower(linked.ReplaceAllString(match[1], "$1"))
		anchor := strings.ReplaceAll(unanchored.ReplaceAllString(words, ""), " ", "-")
		if n := seen[anchor]; n > 0 {
			anchors = append(anchors, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			anchors = append(anchors, anchor)
		}
		seen[anchor]++
	}
	return anchors
}

func readDocuments(t *testing.T) map[string]document {
	t.Helper()
	documents := map[string]document{}
	walk(t, rootOf(t), func(path string) {
		if strings.HasSuffix(path, ".md") {
			documents[path] = readDocument(t, path)
		}
	})
	return documents
}

// TestLinksLeadSomewhere follows every link between files of the repository, to the heading that it names.
func TestLinksLeadSomewhere(t *testing.T) {
	documents := readDocuments(t)
	links, anchors := 0, 0
	for path, from := range documents {
		for _, match := range from.links {
			links++
			target := path
			if match[1] != "" {
				target = filepath.Join(filepath.Dir(path), match[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if to, ok := documents[target]; ok && match[2] != "" {
				anchors++
				if !slices.Contains(to.anchors, match[2]) {
					t.Errorf("%s links to %s#%s, and no heading there is called so", path, match[1], match[2])
				}
			}
		}
	}
	if links < 400 || anchors < 100 {
		t.Errorf("%d links, %d to headings: they are not found any more", links, anchors)
	}
}

// published is a link of the chart to a page of the repository, as it is published.
var published = regexp.MustCompile(`(?:https://github\.com/rankwright/rankwright/(?:blob|tree)/main|\{\{ \$docs \}\})/([^\s#"<>]+)(?:#([a-z0-9-]+))?`)

// TestLinksOfTheChart follows the links in what the chart says and installs.
func TestLinksOfTheChart(t *testing.T) {
	root := rootOf(t)
	documents := readDocuments(t)
	links := 0
	walk(t, filepath.Join(root, "charts"), func(path string) {
		for _, match := range published.FindAllStringSubmatch(contentOf(t, path), -1) {
			target := filepath.Join(root, match[1])
			if strings.HasPrefix(match[0], "{{") {
				target = filepath.Join(root, "docs", match[1])
			}
			links++
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if match[2] != "" && !slices.Contains(documents[target].anchors, match[2]) {
				t.Errorf("%s links to %s, and no heading there is called so", path, match[0])
			}
		}
	})
	if links < 10 {
		t.Errorf("%d links: they are not found any more", links)
	}
}

// named is a page that a text of a program, or a comment of a manifest, sends its reader to.
var named = regexp.MustCompile(`(?m)(?:"[^"\n]*[ (]|# [^\n]*[ (])(docs/[a-z/-]+\.md)`)

// TestPagesThatTextsName: a reader who is sent to a page by a program or a manifest finds it.
func TestPagesThatTextsName(t *testing.T) {
	root, count := rootOf(t), 0
	walk(t, root, func(path string) {
		if ext := filepath.Ext(path); ext != ".yaml" && (ext != ".go" || strings.HasSuffix(path, "_test.go")) {
			return
		}
		for _, match := range named.FindAllStringSubmatch(contentOf(t, path), -1) {
			count++
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	if count < 5 {
		t.Errorf("%d names: they are not found any more", count)
	}
}

// TestEveryPageIsReached: a reader comes from the front page to every page of docs.
func TestEveryPageIsReached(t *testing.T) {
	documents := readDocuments(t)
	docs := filepath.Join(rootOf(t), "docs")
	reached := map[string]bool{}
	var visit func(string)
	visit = func(path string) {
		if _, ok := documents[path]; !ok || reached[path] || !strings.HasPrefix(path, docs) {
			return
		}
		reached[path] = true
		for _, match := range documents[path].links {
			visit(filepath.Join(filepath.Dir(path), match[1]))
		}
	}
	visit(filepath.Join(docs, "README.md"))
	for path := range documents {
		if strings.HasPrefix(path, docs) && !reached[path] {
			t.Errorf("no way leads from docs/README.md to %s: link to it from its section's README.md", path)
		}
	}
}

func TestAnchors(t *testing.T) {
	text := "# A page\n\n## `top`, and more\n\n## Alike\n\n## Alike\n\n### [A link](x.md) in spec.a[]\n"
	want := []string{"a-page", "top-and-more", "alike", "alike-1", "a-link-in-speca"}
	if got := anchorsOf(text); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPictures: pictures can be read aloud, and seen on a dark page, and fetch nothing.
func TestPictures(t *testing.T) {
	pictures := 0
	walk(t, filepath.Join(rootOf(t), "docs"), func(path string) {
		if !strings.HasSuffix(path, ".svg") {
			return
		}
		pictures++
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(content), `"http://www.w3.org/2000/svg"`, "", 1)
		for _, needed := range []string{"<title", "<desc", "prefers-color-scheme:dark", "viewBox"} {
			if !strings.Contains(text, needed) {
				t.Errorf("%s has no %s", path, needed)
			}
		}
		if strings.Contains(text, "//") || strings.Contains(text, "<script") {
			t.Errorf("%s fetches or runs something", path)
		}
		decoder := xml.NewDecoder(strings.NewReader(string(content)))
		for err == nil {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", path, err)
		}
	})
	if pictures == 0 {
		t.Error("no picture is found any more")
	}
}
