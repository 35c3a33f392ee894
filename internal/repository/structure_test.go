package repository

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// longestFile bounds files, tests included, and longestPackage packages without tests; neither counts generated files.
	longestFile    = 500
	longestPackage = 6000
)

// outside are the rooms that import what they need of the product.
var outside = map[string]bool{"test": true, "tools": true}

// source is a hand-written file of Go.
type source struct {
	name    string // from the root, with slashes
	lines   int
	imports []string
}

func (s source) folder() string { return path.Dir(s.name) }
func (s source) isTest() bool   { return strings.HasSuffix(s.name, "_test.go") }

// TestStructure holds the code to the table of rooms and to the bounds of files and packages.
func TestStructure(t *testing.T) {
	files := sources(t)
	var found []string
	found = append(found, imports(files)...)
	found = append(found, lengths(files)...)
	slices.Sort(found)
	for _, violation := range slices.Compact(found) {
		if exceptions[violation] == "" {
			t.Errorf("%s: rooms_test.go has the rules, and who is excepted until when", violation)
		}
	}
	for _, exception := range slices.Sorted(maps.Keys(exceptions)) {
		if !slices.Contains(found, exception) {
			t.Errorf("%s no longer: remove the exception from rooms_test.go", exception)
		}
	}
}

// TestRooms holds the table itself: imports name rows above, so that no circle of rooms is possible.
func TestRooms(t *testing.T) {
	above := map[string]bool{}
	for _, room := range rooms {
		for _, folder := range room.imports {
			if !above[folder] {
				t.Errorf("%s may import %s, which has no row above it", room.folder, folder)
			}
		}
		if above[room.folder] {
			t.Errorf("%s has two rows", room.folder)
		}
		above[room.folder] = true
	}
}

// imports says which packages of the product import what the row of their room does not list.
func imports(files []source) []string {
	var violations []string
	for _, file := range files {
		if file.isTest() {
			continue
		}
		home := roomOf(file.folder())
		if home == nil {
			violations = append(violations, file.folder()+" is in no room")
			continue
		}
		for _, imported := range file.imports {
			if !home.mayImport(imported) {
				violations = append(violations, file.folder()+" imports "+strings.TrimPrefix(imported, module))
			}
		}
	}
	return violations
}

// roomOf is nil for a folder that is in no room.
func roomOf(folder string) *room {
	var longest *room
	for k := range rooms {
		if within(folder, rooms[k].folder) && (longest == nil || len(rooms[k].folder) > len(longest.folder)) {
			longest = &rooms[k]
		}
	}
	return longest
}

func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

func withinAny(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(name, folder) })
}

func (r *room) mayImport(imported string) bool {
	if folder, ours := strings.CutPrefix(imported, module); ours {
		other := roomOf(folder)
		return other == nil || other == r || outside[r.folder] || slices.Contains(r.imports, other.folder)
	}
	return !withinAny(imported, worldly) || withinAny(imported, harmless) || withinAny(imported, r.world)
}

// lengths says which files and packages are too long.
func lengths(files []source) []string {
	var violations []string
	packages := map[string]int{}
	for _, file := range files {
		if file.lines > longestFile {
			violations = append(violations, fmt.Sprintf("%s is longer than %d lines", file.name, longestFile))
		}
		if !file.isTest() {
			packages[file.folder()] += file.lines
		}
	}
	for folder, lines := range packages {
		if lines > longestPackage {
			violations = append(violations, fmt.Sprintf("%s is longer than %d lines", folder, longestPackage))
		}
	}
	return violations
}

// sources are the hand-written files of Go, of every system.
func sources(t *testing.T) []source {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	var files []source
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		file, handWritten, err := read(root, name)
		if handWritten {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 1000 {
		t.Fatalf("%d files of Go below %s: the search is broken", len(files), root)
	}
	return files
}

func read(root, name string) (file source, handWritten bool, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return source{}, false, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return source{}, false, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return source{}, false, err
	}
	file = source{name: filepath.ToSlash(relative), lines: bytes.Count(text, []byte("\n"))}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, false, err
		}
		file.imports = append(file.imports, imported)
	}
	return file, !ast.IsGenerated(parsed), nil
}
