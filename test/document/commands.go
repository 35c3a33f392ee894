package document

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
)

// Command is a command that a document or an example gives to its readers.
type Command struct {
	// Page is the file, from the root of the repository, and Line where it stands there.
	Page string
	Line int
	// Program is what it starts, without its folder and without sudo; Words are all of it, as a shell reads them.
	Program string
	Words   []string
	// Inline is set for what stands in a sentence, which may leave out what is said around it.
	Inline bool
	// Made are the files that this page's commands wrote before.
	Made []string
}

// String is the command with where it stands.
func (c Command) String() string {
	return fmt.Sprintf("%s:%d: %#q", c.Page, c.Line, strings.Join(c.Words, " "))
}

// line is a line of code as it stands on a page.
type line struct {
	number int
	text   string
	inline bool
}

// Commands are all command lines of README.md and the other pages beside it, of docs/, and of examples/ with the comments of their manifests.
//
// Blocks of code that are indented, that name no language, or that are sh or console, have commands alone: what else is shown there names its
// language. In a transcript, which has a prompt, only what follows the prompt is a command. In sentences it is what starts with a program that
// somewhere else is started, or has a flag.
func Commands(t *testing.T) []Command {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	var commands []Command
	for _, page := range pages(t, root) {
		content, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		var lines []line
		if path.Ext(page) == ".md" {
			lines = ofMarkdown(string(content))
		} else {
			lines = ofComments(string(content))
		}
		commands = append(commands, read(page, lines)...)
	}
	return commands
}

// pages are the files that give commands.
func pages(t *testing.T, root string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, entry fs.DirEntry, err error) error {
			if ext := filepath.Ext(name); err == nil && !entry.IsDir() && (ext == ".md" || folder == "examples" && ext == ".yaml") {
				list = append(list, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range list {
		relative, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = filepath.ToSlash(relative)
	}
	return slices.DeleteFunc(list, func(page string) bool { return page == "CHANGELOG.md" })
}

// inCode is code in a sentence.
var inCode = regexp.MustCompile("`([^`]+)`")

// ofMarkdown are the lines of code of a page that may be commands.
func ofMarkdown(content string) []line {
	var lines, block []line
	language, fenced, after := "", false, true // after an empty line, where indented code may begin
	for i, text := range strings.Split(content, "\n") {
		number, trimmed := i+1, strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			if fenced && slices.Contains([]string{"", "sh", "console"}, language) {
				lines = append(lines, typed(block)...)
			}
			language, fenced, block = strings.TrimPrefix(trimmed, "```"), !fenced, nil
		case fenced:
			block = append(block, line{number: number, text: trimmed})
		case after && strings.HasPrefix(text, "    ") && trimmed != "":
			lines = append(lines, line{number: number, text: trimmed})
			continue
		default:
			for _, span := range inCode.FindAllStringSubmatch(text, -1) {
				lines = append(lines, line{number, strings.ReplaceAll(span[1], `\|`, "|"), true})
			}
		}
		after = trimmed == ""
	}
	return continued(lines)
}

// typed are the lines of a block that somebody types: those with a prompt where there is one, else all.
func typed(block []line) []line {
	var prompted []line
	for _, l := range block {
		if text, found := strings.CutPrefix(l.text, "$ "); found {
			prompted = append(prompted, line{number: l.number, text: text})
		}
	}
	if prompted != nil {
		return prompted
	}
	return block
}

// continued joins lines that end with a backslash, or within quotes, with those that follow.
func continued(lines []line) []line {
	var joined []line
	for _, l := range lines {
		if last := len(joined) - 1; last >= 0 && !l.inline && !joined[last].inline {
			open := joined[last].text
			if text, found := strings.CutSuffix(open, `\`); found {
				joined[last].text = text + l.text
				continue
			}
			if strings.Count(open, "'")%2 == 1 && !strings.Contains(open, "# ") {
				joined[last].text = open + " " + l.text
				continue
			}
		}
		joined = append(joined, l)
	}
	return joined
}

// comment is one of a manifest that has nothing but a command, with what it is for after three blanks or more.
var comment = regexp.MustCompile(`^\s*# {1,3}([a-z][a-z-]+ [^ ].*?)(?: {3,}.*)?$`)

// ofComments are the lines of a manifest that say a command.
func ofComments(content string) []line {
	var lines []line
	for i, text := range strings.Split(content, "\n") {
		for _, m := range comment.FindAllStringSubmatch(text, 1) {
			if strings.HasPrefix(text, "#   ") || startsProgram(m[1]) {
				lines = append(lines, line{number: i + 1, text: m[1]})
			}
		}
		if _, said, found := strings.Cut(text, "# "); found {
			for _, span := range inCode.FindAllStringSubmatch(said, -1) {
				lines = append(lines, line{i + 1, span[1], true})
			}
		}
	}
	return lines
}

func startsProgram(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return slices.Contains([]string{"kubectl", "helm", "make"}, first)
}

var (
	setting = regexp.MustCompile(`^[A-Z_]+=`)
	// name is what a program may be called.
	name = regexp.MustCompile(`^[a-z.][a-zA-Z0-9_.-]*$`)
	flag = regexp.MustCompile(`^--?[a-z]`)
	// before are programs that start the one whose name follows, after their own flags.
	before = []string{"sudo", "exec", "xargs"}
)

// read makes commands of lines.
func read(page string, lines []line) []Command {
	var commands []Command
	var made []string
	for _, l := range lines {
		for _, c := range calls(l.text) {
			words := c.words
			for started := false; len(words) > 1 && (setting.MatchString(words[0]) || slices.Contains(before, words[0]) || started && words[0][0] == '-'); words = words[1:] {
				started = started || slices.Contains(before, words[0])
			}
			command := Command{Page: page, Line: l.number, Program: path.Base(words[0]), Words: words, Inline: l.inline, Made: slices.Clone(made)}
			if !l.inline || command.inSentence() {
				commands = append(commands, command)
			}
			made = append(made, c.writes...)
			made = append(made, command.written()...)
		}
	}
	return commands
}

// inSentence says whether code in a sentence is a command: it has a flag, or starts a program that has commands or targets.
func (c Command) inSentence() bool {
	if len(c.Words) < 2 || !name.MatchString(c.Program) {
		return false
	}
	return slices.Contains([]string{"kubectl", "helm", "make", "go", "node-agent", "operator"}, c.Program) || slices.ContainsFunc(c.Words, flag.MatchString)
}

// written are the files that a command is told to write.
func (c Command) written() []string {
	var files []string
	for i, word := range c.Words[:len(c.Words)-1] {
		if word == "--write" || word == "--record" {
			files = append(files, c.Words[i+1])
		}
	}
	return files
}
