package document

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli"
)

func TestUnknownIn(t *testing.T) {
	for line, want := range map[string]string{
		"plan -f - -o explain | less --fast":   "",
		"top placements -A --watch # --all":    "",
		"model inspect PATH":                   "",
		"plan --modell x":                      "--modell",
		"fly --high":                           "fly",
		"top -Q":                               "-Q",
		"-vv plan -f x":                        "",
		"estimate --model=70B --lengths 'a b'": "",
	} {
		if got := unknownIn(cli.Command(), calls(line)[0].words); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// unknownIn is what a program does not know of a command: a command or a flag, and "" where it knows all.
func unknownIn(root *cobra.Command, words []string) string {
	root.InitDefaultCompletionCmd()
	command, rest, err := root.Find(words)
	if err != nil || command == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		if isWord.MatchString(words[0]) {
			return words[0]
		}
		return ""
	}
	command.InitDefaultHelpFlag()
	command.InheritedFlags()
	for _, w := range rest {
		if name, _, _ := strings.Cut(w, "="); !known(command, name) {
			return name
		}
	}
	return ""
}

// isWord leaves out what stands for a command, as COMMAND and … do.
var isWord = regexp.MustCompile(`^[a-z]+$`)

func known(command *cobra.Command, argument string) bool {
	switch {
	case !strings.HasPrefix(argument, "-") || argument == "-" || argument == "--":
		return true
	case strings.HasPrefix(argument, "--"):
		return command.Flag(argument[2:]) != nil || argument == "--version"
	}
	return command.Flags().ShorthandLookup(argument[1:2]) != nil
}
