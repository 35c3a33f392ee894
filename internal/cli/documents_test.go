package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	nodeagent "github.com/rankwright/rankwright/cmd/node-agent/command"
	"github.com/rankwright/rankwright/internal/cli/term"
)

var (
	continued = regexp.MustCompile(`\\\n\s*`)
	// commandLine is a command of the plugin or the agent in a block of code, up to the end of its line, or in a line, up to the backtick.
	commandLine = regexp.MustCompile("(?m)(?:(kubectl rankwright)|(?:`|-- |^ {4})(?:sudo \\./)?(node-agent)) ([^`\n]+)")
	word        = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	// ends are what a shell ends a command at.
	ends = regexp.MustCompile(`^(\||\|\||&&|;|\d?[<>].*|#.*|\))$`)
)

// TestDocumentedCommands: every command of the plugin and of the agent in a document exists, and so does each of its flags.
func TestDocumentedCommands(t *testing.T) {
	commands, ofAgent := 0, 0
	for _, folder := range []string{"docs", "examples", "README.md", "CONTRIBUTING.md"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range commandLine.FindAllStringSubmatch(continued.ReplaceAllString(string(content), " "), -1) {
				root := newRoot(term.Streams{})
				if match[2] != "" {
					root, ofAgent = nodeagent.New(io.Discard, io.Discard, nil), ofAgent+1
				}
				commands++
				if wrong := unknownIn(root, match[3]); wrong != "" {
					t.Errorf("%s: %s %s: there is no %s", path, match[1]+match[2], match[3], wrong)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if commands < 150 || ofAgent < 8 {
		t.Errorf("%d commands, %d of the agent: they are not found any more", commands, ofAgent)
	}
}

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
		if got := unknownIn(newRoot(term.Streams{}), line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// unknownIn is what a program does not know of a command line: a command or a flag, and "" where it knows all.
func unknownIn(root *cobra.Command, line string) string {
	root.InitDefaultCompletionCmd()
	var words []string
	for _, w := range word.FindAllString(line, -1) {
		if ends.MatchString(w) {
			break
		}
		words = append(words, strings.TrimSuffix(w, ")"))
	}
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
