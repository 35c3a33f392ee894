package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// narrow fails where a line has more columns than people's terminals.
func narrow(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > term.LineWidth {
			t.Errorf("%s: %d columns: %s", what, utf8.RuneCountInString(line), line)
		}
	}
}

// wideByName are golden files of what is wide because it was asked for, and of files for launchers, which nobody folds.
func wideByName(name string) bool {
	for _, part := range []string{"wide", "topology", "columns", "export"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
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
		if wideByName(filepath.Base(file)) || filepath.Base(file) == "cluster.txt" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		narrow(t, file, string(text))
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
		"detect --replay " + clitest.RecordingOf(t, "nvidia-h100-8"),
	} {
		r := run(t, asked, strings.Fields(command)...)
		narrow(t, command, r.Out+r.Err)
	}
	var helps func(*cobra.Command)
	helps = func(c *cobra.Command) {
		narrow(t, "help of "+c.CommandPath(), c.Long+"\n"+c.Example+"\n"+c.UsageString())
		for _, child := range c.Commands() {
			helps(child)
		}
	}
	helps(newRoot(term.Streams{}))
}
