package document

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	nodeagent "github.com/rankwright/rankwright/cmd/node-agent/command"
	operator "github.com/rankwright/rankwright/cmd/operator/command"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/repository"
)

// repo is what commands are compared with.
type repo struct {
	root string
	// makefile is the Makefile, with the script that takes variables of its own.
	makefile string
	// ofPlugin are the commands of the plugin.
	ofPlugin []string
	// said is the text of each page.
	said map[string]string
}

// program is something that commands of documents start.
type program struct {
	// names are what it is called; a name of two words is kubectl with a plugin.
	names []string
	// wrong is what a command says that there is not, and "" where all of it is there. Without it the program is not ours, and why says where its
	// commands come from, or who holds them.
	wrong func(repo, Command) string
	why   string
}

var programs = []program{
	{names: []string{"kubectl rankwright"}, wrong: func(_ repo, c Command) string { return unknownIn(cli.Command(), c.Words[2:]) }},
	{names: []string{"node-agent"}, wrong: func(_ repo, c Command) string {
		return unknownIn(nodeagent.New(io.Discard, io.Discard, nil), c.Words[1:])
	}},
	{names: []string{"operator"}, wrong: func(_ repo, c Command) string { return unknownIn(operator.New(), c.Words[1:]) }},
	{names: []string{"make"}, wrong: repo.makes},
	{names: []string{"go"}, wrong: repo.goes},
	{names: []string{"kubectl"}, why: "run by TestDocumentedKubectl in test/integration"},
	{names: []string{"kubectl krew"}, why: "test/release installs as krew does"},
	{names: []string{"helm"}, why: "run by TestDocumentedHelm in test/chart"},
	{names: []string{"sha256sum", "gh", "cosign", "git"}, why: "of a release that is published, which no test can ask for"},
	{names: []string{".", "base64", "cat", "cp", "echo", "grep", "head", "jq", "kill", "sed", "sh", "tar", "uname"}, why: "a host's own"},
	{names: []string{"lspci", "nvidia-smi", "nvlink", "topo"}, why: "a vendor's, which needs its devices; test/recordings has what they print"},
	{names: []string{"bench_serving", "deepspeed", "ray", "vllm"}, why: "an engine's; test/integration/examples and pkg/site hold what is given to them and read of them"},
}

// TestDocumentedCommands: every command line of the documents and the examples is one that there is, as far as this repository can say, and the
// files that it reads are there. A program that no row knows fails it.
func TestDocumentedCommands(t *testing.T) {
	r := readRepo(t)
	count := map[string]int{}
	for _, c := range Commands(t) {
		c = r.plugged(c)
		p := programOf(c)
		if p == nil {
			t.Errorf("%s starts %q, which has no row in programs; where it is no command, let its block name a language", c, c.Program)
			continue
		}
		count[p.names[0]]++
		if p.wrong != nil {
			if wrong := p.wrong(r, c); wrong != "" {
				t.Errorf("%s: there is no %s", c, wrong)
			}
		}
		if missing := r.missing(c); missing != "" {
			t.Errorf("%s reads %s: no such file is in the repository, beside the page, or made or named on it", c, missing)
		}
	}
	for name, least := range map[string]int{"kubectl rankwright": 300, "kubectl": 150, "make": 90, "go": 20, "node-agent": 12, "helm": 12} {
		if count[name] < least {
			t.Errorf("%d commands of %s: they are not found any more", count[name], name)
		}
	}
}

// plugged writes out what stands without the plugin's name where the plugin is spoken of.
func (r repo) plugged(c Command) Command {
	if c.Inline && slices.Contains(r.ofPlugin, c.Words[0]) {
		c.Words = append([]string{"kubectl", "rankwright"}, c.Words...)
	}
	return c
}

func programOf(c Command) *program {
	called := filepath.Base(c.Words[0])
	for i, p := range programs {
		two := len(c.Words) > 1 && slices.Contains(p.names, called+" "+c.Words[1])
		if two || slices.Contains(p.names, called) {
			return &programs[i]
		}
	}
	return nil
}

func readRepo(t *testing.T) repo {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	r := repo{root: root, said: map[string]string{}}
	for _, file := range []string{"Makefile", "tools/images.sh"} {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		r.makefile += string(content)
	}
	for _, command := range cli.Command().Commands() {
		r.ofPlugin = append(r.ofPlugin, command.Name())
	}
	for _, page := range pages(t, root) {
		content, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		r.said[page] = string(content)
	}
	return r
}

// makes is what a command of make asks for that the Makefile does not have.
func (r repo) makes(c Command) string {
	for _, word := range c.Words[1:] {
		name, _, isVariable := strings.Cut(word, "=")
		used := strings.Contains(r.makefile, "\n"+name+" ") || strings.Contains(r.makefile, "${"+name+":-")
		if isVariable && !used || !isVariable && !strings.Contains(r.makefile, "\n"+word+":") {
			return name + " in the Makefile"
		}
	}
	return ""
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)

// goes is what a command of Go names that there is not: a package, a test, or a flag of a program.
func (r repo) goes(c Command) string {
	var tests, sources strings.Builder
	found := false
	for _, word := range c.Words {
		folder, below := strings.CutSuffix(word, "/...")
		if !strings.HasPrefix(word, "./") {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(r.root, folder, "*.go")) // the pattern is a good one
		if below {
			deeper, _ := filepath.Glob(filepath.Join(r.root, folder, "*", "*.go"))
			files = append(files, deeper...)
		}
		if len(files) == 0 {
			return word
		}
		found = true
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return file
			}
			for _, m := range testFunction.FindAllStringSubmatch(string(content), -1) {
				tests.WriteString(m[1] + "\n")
			}
			sources.Write(content)
		}
	}
	for i, word := range c.Words {
		switch {
		case (word == "-run" || word == "-bench") && i+1 < len(c.Words):
			named, _, _ := strings.Cut(c.Words[i+1], "/")
			if kind := map[string]string{"-run": "Test", "-bench": "Benchmark"}[word]; named != "^$" && !regexp.MustCompile(`(?m)^`+kind+`.*(`+named+`)`).MatchString(tests.String()) &&
				!regexp.MustCompile(`(?m)^(`+named+`)`).MatchString(tests.String()) {
				return kind + " of the name " + c.Words[i+1]
			}
		case c.Words[1] == "run" && found && flag.MatchString(word) && !strings.Contains(sources.String(), `"`+strings.TrimLeft(word, "-")+`"`):
			return word
		}
	}
	return ""
}

// reading are the flags by which commands are given files.
var reading = []string{"-f", "--filename", "-k", "--values", "--replay", "--model-file", "--calibration", "--view", "--manifest"}

// missing is a file that a command reads and that is nowhere.
func (r repo) missing(c Command) string {
	for i, word := range c.Words[:len(c.Words)-1] {
		if !slices.Contains(reading, word) {
			continue
		}
		file := c.Words[i+1]
		if _, path, found := strings.Cut(file, "="); found {
			file = path
		}
		if !r.has(c, file) {
			return file
		}
	}
	return ""
}

// placeholder is what stands for a name that the reader has.
var placeholder = regexp.MustCompile(`^[A-Z]+(\.{3})?$`)

// has says whether a file is the reader's or standard input, in the repository, beside its page or the questions, written by a command above, or
// named by its page, which says what is in it. Of the plugin's examples the help says it.
func (r repo) has(c Command, file string) bool {
	if file == "-" || placeholder.MatchString(strings.TrimSuffix(file, filepath.Ext(file))) || strings.HasPrefix(file, "-") || slices.Contains(c.Made, file) {
		return true
	}
	for _, folder := range []string{".", filepath.Dir(c.Page), strings.TrimSuffix(c.Page, ".md"), "test/questions"} {
		if _, err := os.Stat(filepath.Join(r.root, folder, file)); err == nil {
			return true
		}
	}
	return strings.Contains(r.said[c.Page], "`"+file+"`") || c.Page == "docs/reference/cli.md"
}
