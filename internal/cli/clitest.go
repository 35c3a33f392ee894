package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/repository"
)

var update = flag.Bool("update", false, "write the golden files anew")

// result is what a command did.
type result struct {
	out, err string
	code     int
}

// runOf runs a command line whose commands newRoot makes.
func runOf(t *testing.T, newRoot func(Streams) *cobra.Command, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := execute(t.Context(), newRoot, args, Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs})
	return result{out: out.String(), err: errs.String(), code: code}
}

// okOf is the output of a command line that must succeed.
func okOf(t *testing.T, newRoot func(Streams) *cobra.Command, stdin string, args ...string) string {
	t.Helper()
	r := runOf(t, newRoot, stdin, args...)
	if r.code != ExitOK || r.err != "" {
		t.Fatalf("%v: exit code %d, errors %q", args, r.code, r.err)
	}
	return r.out
}

// testdata is the path of a file of the command line's test data.
func testdata(t *testing.T, name ...string) string {
	t.Helper()
	return inRepository(t, append([]string{"internal", "cli", "testdata"}, name...)...)
}

// recordingOf is the path of a recorded host.
func recordingOf(t *testing.T, name string) string {
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

// golden compares a text with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := testdata(t, "golden", name)
	if *update {
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

// object parses what a command printed as JSON.
func object[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}
