package shape

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// Refusals has every reason that is declared as one of Unplaceable, and Limit.
func TestRefusals(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := []string{ReasonLimit}
	ast.Inspect(file.Decls[0], func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, value)
		}
		return true
	})
	listed := Refusals()
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("declared are %q, and listed %q", declared, listed)
	}
}
