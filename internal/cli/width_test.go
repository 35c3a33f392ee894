package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// wideByName are golden files of what is wide, by what is in their names, with the reason why nobody folds it.
var wideByName = map[string]string{
	"wide":     "it is asked for by -o wide",
	"topology": "a matrix has a column a device, and is wide with 8 of them",
	"columns":  "the columns are chosen by -o custom-columns",
	"export":   "files for launchers, which programs read",
	"/cluster": "objects that the scenarios begin with",
}

// columnsOf is how many columns a golden file may have: NAME-80 is what a terminal of 80 shows.
func columnsOf(name string) int {
	if strings.HasSuffix(strings.TrimSuffix(name, ".txt"), "-80") {
		return 80
	}
	return term.LineWidth
}

// TestNothingIsWide holds every golden file, and what the documentation shows that plan prints, to the width of a terminal.
func TestNothingIsWide(t *testing.T) {
	var files []string
	for _, pattern := range []string{clitest.Testdata(t, "golden", "*.txt"), filepath.Join(scenariosFolder, "*", "*.txt")} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		name := "/" + filepath.Base(file)
		if slices.ContainsFunc(slices.Collect(maps.Keys(wideByName)), func(part string) bool { return strings.Contains(name, part) }) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		clitest.Narrow(t, file, string(text), columnsOf(name))
	}
}

// TestCommandsAreNarrow holds what commands print, refusals included, and the help of every command, to the width of a terminal.
func TestCommandsAreNarrow(t *testing.T) {
	asked := stream(inventoryOf("a", 1), placement("p", huge, `"quantization":"BF16"`))
	for _, command := range []string{
		"estimate --model Llama-3.1-405B --device H100 --tp 8 -o explain",
		"train --model Llama-3.1-8B --device H100 --data 8 --sharding FSDP -o explain",
		"cost --model Llama-3.1-8B",
		"cost --model gpt-oss-20b --provider AWS",
		"model",
		"model DeepSeek-V3",
		"mesh --tp 8 --pp 4 --dp 8",
		"simulate --shape h100x8=2 --model Llama-3.1-70B --until-full",
		"plan -f -",
		"models",
		"models --fit --device L40S --devices 2",
		"recommend --model DeepSeek-V3 --device H200 --nodes 2",
		"recommend --model Llama-3.3-70B --device H100 -o explain",
		"recommend --model Llama-3.1-405B --device L4",
		"recommend --model Llama-3.1-8B --device H999",
		"estimate --model 70B --device H100 --tp 8",
		"estimate --model 70B --device H100 --serving media.images=1",
		"train --model Llama-4 --device H100",
		"detect --replay " + clitest.RecordingOf(t, "nvidia-h100-8"),
	} {
		for _, columns := range []int{80, term.LineWidth} {
			r := clitest.RunAt(t, newRoot, columns, asked, strings.Fields(command)...)
			clitest.Narrow(t, command, r.Out+r.Folded, columns)
		}
	}
	var helps func(*cobra.Command)
	helps = func(c *cobra.Command) {
		clitest.Narrow(t, "help of "+c.CommandPath(), c.Long+"\n"+c.Example+"\n"+c.UsageString(), term.LineWidth)
		for _, child := range c.Commands() {
			helps(child)
		}
	}
	helps(newRoot(term.Streams{}))
}
