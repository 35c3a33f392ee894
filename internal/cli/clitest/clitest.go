package clitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/repository"
)

// Update is set where golden files are to be written anew.
var Update = flag.Bool("update", false, "write the golden files anew")

// Result is the output, errors and exit code of a command. Err has messages as they were before they were folded, since where a line ends may
// depend on the name of a temporary folder; Folded as they were written.
type Result struct {
	Out, Err, Folded string
	Code             int
}

// Still is a clock that stands still, so that what takes long on a busy machine does not say so.
func Still() func() time.Time {
	now := time.Now()
	return func() time.Time { return now }
}

// Run runs a command line whose commands newRoot makes.
func Run(t *testing.T, newRoot func(term.Streams) *cobra.Command, stdin string, args ...string) Result {
	t.Helper()
	return RunAt(t, newRoot, 0, stdin, args...)
}

// RunAt runs one on a terminal of so many columns.
func RunAt(t *testing.T, newRoot func(term.Streams) *cobra.Command, columns int, stdin string, args ...string) Result {
	t.Helper()
	var out, errs bytes.Buffer
	code := term.Execute(t.Context(), newRoot, args, term.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs, Width: columns, Now: Still()})
	return Result{Out: out.String(), Err: Unfolded(errs.String()), Folded: errs.String(), Code: code}
}

// Unfolded is a text with messages as they were before they were folded.
func Unfolded(text string) string { return strings.ReplaceAll(text, "\n  ", " ") }

// OK returns the output of a command line that must succeed.
func OK(t *testing.T, newRoot func(term.Streams) *cobra.Command, stdin string, args ...string) string {
	t.Helper()
	r := Run(t, newRoot, stdin, args...)
	if r.Code != term.ExitOK || r.Err != "" {
		t.Fatalf("%v: exit code %d, errors %q", args, r.Code, r.Err)
	}
	return r.Out
}

// Testdata returns the path of a file of the command line's test data.
func Testdata(t *testing.T, name ...string) string {
	t.Helper()
	return inRepository(t, append([]string{"internal", "cli", "testdata"}, name...)...)
}

// RecordingOf returns the path of a recorded host.
func RecordingOf(t *testing.T, name string) string {
	t.Helper()
	return inRepository(t, "test", "recordings", name+".tar.gz")
}

func inRepository(t *testing.T, path ...string) string {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, path...)...)
}

// Golden compares a text with the file of that name.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := Testdata(t, "golden", name)
	if *Update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Object parses what a command printed as JSON.
func Object[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// Narrow fails where a line has more columns than a terminal. Lines that begin with something of a list, after their blanks, are left out: what is to be
// copied is not folded.
func Narrow(t *testing.T, what, text string, most int, copied ...string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		begins := func(head string) bool { return strings.HasPrefix(strings.TrimSpace(line), head) }
		if n := utf8.RuneCountInString(line); n > most && !slices.ContainsFunc(copied, begins) {
			t.Errorf("%s: %d columns, where a terminal has %d: %s", what, n, most, line)
		}
	}
}
