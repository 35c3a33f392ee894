package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCalls(t *testing.T) {
	for line, want := range map[string][]call{
		`kubectl get mp  # all`:                  {{words: []string{"kubectl", "get", "mp"}}},
		`a -p '{"x": "y z"}' "b c" d\ e`:         {{words: []string{"a", "-p", `{"x": "y z"}`, "b c", "d e"}}},
		`a | b && c; d`:                          {{words: []string{"a"}}, {words: []string{"b"}}, {words: []string{"c"}}, {words: []string{"d"}}},
		`a > x 2>&1`:                             {{words: []string{"a"}, writes: []string{"x", "1"}}},
		`p -p "$(k get -o jsonpath='{.a}')" end`: {{words: []string{"k", "get", "-o", "jsonpath={.a}"}}, {words: []string{"p", "-p", "$()", "end"}}},
	} {
		if diff := cmp.Diff(want, calls(line), cmp.AllowUnexported(call{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// TestOfMarkdown finds commands where they stand, and nothing else.
func TestOfMarkdown(t *testing.T) {
	const page = "Text `make x` and `same family`:\n\n    kubectl get mp \\\n      -A\n\n```console\n$ helm list\nNAME\n```\n\n" +
		"```text\nno command\n```\n\n- list\n      more of it\n\n```\ngo doc ./pkg\n```\n"
	var got []string
	for _, c := range read("page.md", ofMarkdown(page)) {
		got = append(got, strings.Join(c.Words, " "))
	}
	if diff := cmp.Diff([]string{"make x", "kubectl get mp -A", "helm list", "go doc ./pkg"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
