package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestComputingPackagesRunNothingAtOnce: the Makefile has no race detector for the packages of COMPUTING, so that the product's code in them, and in
// what they import, must start no goroutine. Tests and tools may spread over processors.
func TestComputingPackagesRunNothingAtOnce(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^COMPUTING := (.+)$`).FindSubmatch(makefile)
	if row == nil {
		t.Fatal("the Makefile has no COMPUTING")
	}
	looked := 0
	for _, p := range packagesOf(t, root, strings.Fields(string(row[1]))...) {
		folder, ours := strings.CutPrefix(p.ImportPath, "github.com/rankwright/rankwright/")
		if !ours || strings.HasPrefix(folder, "tools/") || strings.HasPrefix(folder, "test/") {
			continue
		}
		looked++
		for _, name := range p.GoFiles {
			for _, at := range starts(t, filepath.Join(p.Dir, name), nil) {
				t.Errorf("%s starts a goroutine: take what needs it out of COMPUTING in the Makefile", at)
			}
		}
	}
	if looked < 20 {
		t.Errorf("only %d packages were looked at", looked)
	}
}

func TestStartsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"func f() { go f() }":                             1,
		"func f(g interface{ Go(func()) }) { g.Go(nil) }": 1,
		"func f() { goes() }\nfunc goes() {}":             0,
	} {
		if found := starts(t, "p.go", "package p\n\n"+body+"\n"); len(found) != want {
			t.Errorf("%s: found %v, want %d", body, found, want)
		}
	}
}

// starts returns where a file starts a goroutine, by the statement or by a method Go of a group. The source is read from the file where it is nil.
func starts(t *testing.T, name string, source any) []token.Position {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []token.Position
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, files.Position(n.Pos()))
		case *ast.CallExpr:
			if method, is := n.Fun.(*ast.SelectorExpr); is && method.Sel.Name == "Go" {
				found = append(found, files.Position(n.Pos()))
			}
		}
		return true
	})
	return found
}
