package figure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// log is a test that keeps what it is told.
type log struct {
	lines  []string
	failed int
}

func (l *log) Helper()                   {}
func (l *log) Log(args ...any)           { l.lines = append(l.lines, "    x_test.go:1: "+fmt.Sprint(args...)) }
func (l *log) Errorf(_ string, _ ...any) { l.failed++ }

func TestTable(t *testing.T) {
	var l log
	Percent("memory", "worst", 0.0151, 0.02, 7).Hold(&l)
	Share("memory", "top", 0.75, 0.8, 20).Hold(&l)
	All("cases", "equal", 10, 10, 10).Hold(&l)
	All("cases", "too few", 3, 3, 10).Hold(&l)
	Report("cases", "seen", "12\n34").Hold(&l)
	if l.failed != 2 {
		t.Errorf("%d figures failed the test, want 2", l.failed)
	}
	var out strings.Builder
	result, err := Table(strings.NewReader("=== RUN TestX\n"+strings.Join(l.lines, "\n")+"\n--- FAIL: TestX (0.00s)\n    --- SKIP: TestX/a (0.00s)\n"), &out)
	if err != nil {
		t.Fatal(err)
	}
	want := `SUBJECT  WHAT     MEASURED      BAR                  HOLDS
memory   worst    1.5 % of 7    at most 2 %          yes
         top      75.0 % of 20  at least 80 %        NO
cases    equal    10 of 10      all, of at least 10  yes
         too few  3 of 3        all, of at least 10  NO
         seen     12 34         -                    -
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if result.OK() || result.Figures != 5 || result.Failed != 2 || result.Skipped != 1 || len(result.Other) != 2 {
		t.Errorf("got %+v", result)
	}
}

func TestTableRefusesOtherLines(t *testing.T) {
	if _, err := Table(strings.NewReader(Mark+"a\tb\n"), &strings.Builder{}); err == nil {
		t.Error("a line of two columns is taken")
	}
	if result, err := Table(strings.NewReader(""), &strings.Builder{}); err != nil || result.OK() {
		t.Errorf("no figures: got %+v, %v", result, err)
	}
}
