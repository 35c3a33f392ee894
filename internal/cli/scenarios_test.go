package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// scenariosFolder has a folder for each scenario: cluster.txt has flags of simulate, placement.yaml what is asked for,
// table.txt and explain.txt what plan prints.
const scenariosFolder = "../../docs/internals/scenarios"

// scenarioOutputs are the files with what plan prints, by its format.
var scenarioOutputs = map[string]string{"table.txt": "table", "explain.txt": "explain"}

// TestScenarios holds what docs/internals/scenarios says that plan prints to what it prints. With -update it writes the files anew.
func TestScenarios(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(scenariosFolder, "[0-9]*"))
	if err != nil || len(folders) < 10 {
		t.Fatalf("%d scenarios, %v: want at least 10", len(folders), err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			flags, err := os.ReadFile(filepath.Join(folder, "cluster.txt"))
			if err != nil {
				t.Fatal(err)
			}
			cluster := filepath.Join(t.TempDir(), "cluster")
			// On a slow machine it tells how far it is.
			if r := run(t, "", append(append([]string{"simulate"}, strings.Fields(string(flags))...), "--write", cluster)...); r.Code != term.ExitOK {
				t.Fatalf("exit code %d, errors %q", r.Code, r.Err)
			}
			for file, output := range scenarioOutputs {
				r := run(t, "", "plan", "-f", cluster, "-f", filepath.Join(folder, "placement.yaml"), "-o", output)
				if r.Code != term.ExitOK && output == "explain" { // it says no more than the table
					continue
				}
				document(t, filepath.Join(folder, file), r.Out+r.Folded)
			}
		})
	}
}

// document compares a file of the documentation with what it is to be.
func document(t *testing.T, path, want string) {
	t.Helper()
	if *clitest.Update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is out of date: run the test with -update (-documented +printed):\n%s", path, diff)
	}
}

// quote is a block of the scenarios' README.md that quotes a section of a scenario's output.
var quote = regexp.MustCompile("(?ms)```text (\\S+)/(table|explain)\\.txt(?:: (.+?))?\n(.*?)```\n")

// TestScenariosAreQuoted holds the blocks of docs/internals/scenarios/README.md to the scenarios' outputs. With -update, after
// TestScenarios, it writes them anew.
func TestScenariosAreQuoted(t *testing.T) {
	const path = scenariosFolder + "/README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	quoted := map[string]bool{}
	made := quote.ReplaceAllStringFunc(string(text), func(block string) string {
		m := quote.FindStringSubmatch(block)
		output, err := os.ReadFile(filepath.Join(scenariosFolder, m[1], m[2]+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		quoted[m[1]] = true
		body, found := sectionOf(string(output), m[3])
		if !found {
			t.Fatalf("%s/%s.txt has no section %q", m[1], m[2], m[3])
		}
		head, _, _ := strings.Cut(block, "\n")
		return head + "\n" + body + "```\n"
	})
	if len(quoted) < 10 {
		t.Errorf("README.md quotes %d scenarios, want at least 10", len(quoted))
	}
	document(t, path, made)
}

// sectionOf is the section of an output under a heading, or its first paragraph without one.
func sectionOf(output, heading string) (string, bool) {
	if heading == "" {
		first, _, found := strings.Cut(output, "\n\n")
		if !found {
			return output, true
		}
		return first + "\n", true
	}
	_, rest, found := strings.Cut(output, "\n"+heading+"\n")
	if !found {
		return "", false
	}
	body := nextSection.Split(rest, 2)[0]
	return strings.TrimRight(body, "\n") + "\n", true
}

// nextSection is where the next section of an explanation begins.
var nextSection = regexp.MustCompile(`(?m)^\d\. `)
