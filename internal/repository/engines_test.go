package repository

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module    = "github.com/rankwright/rankwright/"
	apiPath   = module + "api/v1alpha1"
	tablePath = module + "pkg/engine"
)

// listed is a package as `go list` prints it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// TestEnginesAreAskedInOnePlace: no package but pkg/engine names an engine. A constant of v1alpha1.Engine is a name, wherever
// it stands, unless the table exports it, and so is a string that is compared, switched on or a key of a map.
func TestEnginesAreAskedInOnePlace(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	packages := packagesOf(t, root, "./api/...", "./pkg/...", "./internal/...", "./controllers/...", "./cmd/...")
	check := newEngineCheck(t, packages)
	for _, p := range packages {
		if strings.HasPrefix(p.ImportPath, module) && p.ImportPath != apiPath && p.ImportPath != tablePath && !readsMeasurements(p.ImportPath) {
			for _, use := range check.uses(t, p, nil) {
				t.Errorf("%s: ask pkg/engine instead", strings.TrimPrefix(use, root+"/"))
			}
		}
	}
}

// readsMeasurements says whether a package reads published measurements, whose tables have words of their own for engines.
func readsMeasurements(path string) bool {
	return strings.HasPrefix(path, module+"pkg/cost/internal/")
}

// TestEngineUsesAreFound shows that each way to name an engine is found, and nothing else.
func TestEngineUsesAreFound(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	packages := packagesOf(t, root, "./api/v1alpha1")
	check := newEngineCheck(t, packages)
	for body, found := range map[string]int{
		`func f(e v1alpha1.Engine) bool { return e == v1alpha1.EngineVLLM }`:                                         1,
		`func f(e v1alpha1.Engine) bool { return e != "vLLM" }`:                                                      1,
		`func f(e v1alpha1.Engine) { switch e { case v1alpha1.EngineJAX, "MPI": } }`:                                 2,
		`func f(e v1alpha1.Engine) bool { return string(e) == "Megatron" }`:                                          1,
		`func f(e string) { switch e { case "sglang": } }`:                                                           1,
		`var m = map[v1alpha1.Engine]int{v1alpha1.EngineTorch: 1}`:                                                   1,
		`var m = map[string]int{"TensorRT-LLM": 1}`:                                                                  1,
		`var usual v1alpha1.Engine = "DeepSpeed"`:                                                                    1,
		`func f(m map[string]int) int { return m["vLLM"] }`:                                                          1,
		`func f(e v1alpha1.Engine) bool { return e == "" }`:                                                          0,
		`func f(s string) bool { return s == "env" }` + "\n" + `func g() string { return "start it with vLLM" }`:     0,
		`func f(a, b v1alpha1.Engine) bool { return a == b }` + "\n" + `var command = struct{ name string }{"vllm"}`: 0,
	} {
		source := "package p\n\nimport \"github.com/rankwright/rankwright/api/v1alpha1\"\n\nvar _ v1alpha1.Engine\n\n" + body + "\n"
		uses := check.uses(t, listed{ImportPath: "p", GoFiles: []string{"p.go"}}, source)
		if len(uses) != found {
			t.Errorf("%s: found %v, want %d", body, uses, found)
		}
	}
}

func packagesOf(t *testing.T, root string, patterns ...string) []listed {
	t.Helper()
	command := exec.Command("go", append([]string{"list", raceFlag, "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, patterns...)...)
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// engineCheck finds where engines are named.
type engineCheck struct {
	files  *token.FileSet
	config types.Config
	names  []string // of all engines, in lower case
}

func newEngineCheck(t *testing.T, packages []listed) *engineCheck {
	t.Helper()
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	c := &engineCheck{files: token.NewFileSet()}
	c.config.Importer = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	api, err := c.config.Importer.Import(apiPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range api.Scope().Names() {
		if of, ok := api.Scope().Lookup(name).(*types.Const); ok && isEngine(of.Type()) {
			c.names = append(c.names, strings.ToLower(constant.StringVal(of.Val())))
		}
	}
	if len(c.names) < 8 {
		t.Fatalf("the API has the engines %v, and there are more", c.names)
	}
	return c
}

func isEngine(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Engine" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == apiPath
}

// uses are the places of a package that name an engine; source stands for the files where it is not nil.
func (c *engineCheck) uses(t *testing.T, p listed, source any) []string {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := c.config.Check(p.ImportPath, c.files, files, info); err != nil {
		t.Fatal(err)
	}
	found := map[token.Pos]bool{}
	for expression, of := range info.Types {
		if of.Value != nil && isEngine(of.Type) && constant.StringVal(of.Value) != "" && !fromTable(expression, info) {
			found[expression.Pos()] = true
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			for _, expression := range decides(n, info) {
				if of := info.Types[expression]; of.Value != nil && of.Value.Kind() == constant.String &&
					slices.Contains(c.names, strings.ToLower(constant.StringVal(of.Value))) {
					found[expression.Pos()] = true
				}
			}
			return true
		})
	}
	var places []string
	for at := range found {
		places = append(places, c.files.Position(at).String())
	}
	slices.Sort(places)
	return places
}

// fromTable says whether an expression is a constant of the table's own, as its default is.
func fromTable(expression ast.Expr, info *types.Info) bool {
	selector, ok := expression.(*ast.SelectorExpr)
	return ok && info.Uses[selector.Sel].Pkg().Path() == tablePath
}

// decides are the expressions of a node whose value decides about what happens.
func decides(n ast.Node, info *types.Info) []ast.Expr {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return []ast.Expr{n.X, n.Y}
		}
	case *ast.CaseClause:
		return n.List
	case *ast.IndexExpr:
		return []ast.Expr{n.Index}
	case *ast.CompositeLit:
		if _, ok := info.TypeOf(n).Underlying().(*types.Map); !ok {
			return nil
		}
		var keys []ast.Expr
		for _, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				keys = append(keys, pair.Key)
			}
		}
		return keys
	}
	return nil
}
