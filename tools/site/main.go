// Site follows the links of the site of docs/ that tools/site.sh built into a folder: each leads to a page of it, to an element that the page has, or elsewhere by a
// person's click; nothing is fetched from elsewhere. Usage: site FOLDER
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	fetched = regexp.MustCompile(`<(?:link|script|img|source|iframe)\b[^>]*?\b(?:src|href)="?([^"> ]+)`)
	clicked = regexp.MustCompile(`<a\b[^>]*?\bhref="?([^"> ]+)`)
	named   = regexp.MustCompile(`\bid="?([^"> ]+)`)
)

// site is the content of the pages, by their addresses: "use/plugin/index.html".
type site map[string]string

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: site FOLDER")
		os.Exit(2)
	}
	pages, err := read(os.DirFS(os.Args[1]))
	if err == nil {
		err = pages.check()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d files in %s\n", len(pages), filepath.ToSlash(os.Args[1]))
}

func read(folder fs.FS) (site, error) {
	pages := site{}
	return pages, fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		pages[name] = string(content)
		return err
	})
}

func (s site) check() error {
	var wrong []error
	links := 0
	for name, text := range s {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, match := range fetched.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "//") {
				wrong = append(wrong, fmt.Errorf("%s fetches %s", name, match[1]))
			} else if !strings.HasPrefix(match[1], "data:") {
				wrong = append(wrong, s.follow(name, match[1]))
			}
		}
		for _, match := range clicked.FindAllStringSubmatch(text, -1) {
			links++
			if !strings.Contains(match[1], "://") {
				wrong = append(wrong, s.follow(name, match[1]))
			}
		}
	}
	if links == 0 {
		wrong = append(wrong, errors.New("no link is found"))
	}
	return errors.Join(wrong...)
}

// follow says what is wrong with a link of a page to another, if anything is.
func (s site) follow(from, link string) error {
	target, fragment, _ := strings.Cut(link, "#")
	to := from
	if target != "" {
		to = path.Join(path.Dir(from), target)
		if _, ok := s[to]; !ok {
			to = path.Join(to, "index.html")
		}
	}
	text, ok := s[to]
	if !ok {
		return fmt.Errorf("%s: no page %s", from, link)
	}
	if fragment == "" {
		return nil
	}
	for _, match := range named.FindAllStringSubmatch(text, -1) {
		if match[1] == fragment {
			return nil
		}
	}
	return fmt.Errorf("%s: %s has no %s", from, to, fragment)
}
