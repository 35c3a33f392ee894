package integration

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/document"
)

// verb is how a command of kubectl that documents give is run: what is added to it, and what it may fail for beside an object that is not there.
type verb struct {
	add []string
	may string
}

// dry is of verbs that change something.
var dry = verb{add: []string{"--dry-run=server"}}

var verbs = map[string]verb{
	"annotate": dry, "apply": dry, "create": dry, "delete": dry, "drain": dry, "label": dry, "patch": dry, "scale": dry,
	"describe": {}, "exec": {}, "explain": {}, "get": {may: "array index out of bounds"}, "logs": {}, "options": {}, "port-forward": {}, "rollout": {}, "wait": {},
	"top": {may: "Metrics API not available"},
}

// TestDocumentedKubectl runs every command of kubectl that the documents and examples give on a real API server that has none of their objects: kinds,
// flags, selectors and fields have to be there, and what is applied is accepted.
func TestDocumentedKubectl(t *testing.T) {
	k := newDocumented(t)
	asked := map[string]bool{}
	var group sync.WaitGroup
	defer group.Wait()
	slots := make(chan struct{}, 4)
	for _, c := range document.Commands(t) {
		line := strings.Join(c.Words, " ")
		if c.Program != "kubectl" || asked[line] || slices.Contains([]string{"rankwright", "krew"}, c.Words[1]) {
			continue
		}
		asked[line] = true
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			k.holds(t, c)
		})
	}
	if len(asked) < 100 {
		t.Errorf("%d commands: they are not found any more", len(asked))
	}
}

// documented runs commands of documents.
type documented struct {
	root, kubectl string
	// home keeps what the server was asked to discover.
	home string
	// said is what the product's own sources and the page of labels say.
	said string
}

func newDocumented(t *testing.T) documented {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	assets, err := controlplane.FindAssets()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, folder := range []string{"api", "controllers", "pkg/nodeagent", "config", "docs/reference/labels.md"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			said.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return documented{root: root, kubectl: filepath.Join(assets, "kubectl"), home: t.TempDir(), said: said.String()}
}

func (d documented) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), d.kubectl, args...) //nolint:gosec // of the documents
	command.Dir = d.root
	command.Env = []string{"KUBECONFIG=" + cluster.Kubeconfig(), "HOME=" + d.home}
	output, err := command.CombinedOutput()
	return string(output), err
}

// absent are what kubectl says of objects that are not there, and of what a sentence leaves out.
var (
	absent = regexp.MustCompile(`(?m)^(Error from server \(NotFound\)|error: error from server \(NotFound\)|.*\(NotFound\)|.*not found$)`)
	short  = regexp.MustCompile(`must specify|USAGE|does not exist|required|no name was specified|flag needs an argument|You must|is invalid|expected|at least one`)
)

func (d documented) holds(t *testing.T, c document.Command) {
	t.Helper()
	args := c.Words[1:]
	at := slices.IndexFunc(args, func(word string) bool { _, known := verbs[word]; return known })
	if at < 0 {
		t.Errorf("%s: %s has no row in verbs", c, args[0])
		return
	}
	v := verbs[args[at]]
	args = d.filled(t, c, args)
	output, err := d.run(t, slices.Insert(args, at+1, v.add...)...)
	switch {
	case err == nil || absent.MatchString(output) || v.may != "" && strings.Contains(output, v.may):
	case c.Inline && short.MatchString(output):
	default:
		t.Errorf("%s: %v: %s", c, err, output)
	}
	for _, field := range fields(c.Words) {
		if output, err := d.run(t, "explain", field); err != nil {
			t.Errorf("%s: %s", c, output)
		}
	}
	for _, word := range d.unsaid(c.Words) {
		t.Errorf("%s: nothing of the product says %q", c, word)
	}
}

// block is YAML on a page.
var block = regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```\n")

// filled gives a command the files that its reader has: what the page shows above it, else an example. It leaves out what never ends.
func (d documented) filled(t *testing.T, c document.Command, words []string) []string {
	t.Helper()
	args := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "--watch" })
	for i, word := range args {
		switch {
		case word == "$()":
			args[i] = "[]"
		case i == 0 || args[i-1] != "-f":
		case word == "FILE" || slices.Contains(c.Made, word):
			args[i] = "examples/single.yaml"
		case !strings.Contains(word, "/"):
			page, err := os.ReadFile(filepath.Join(d.root, c.Page))
			if err != nil {
				t.Error(err)
			}
			above, _, _ := strings.Cut(string(page), strings.Join(c.Words, " "))
			shown := block.FindAllStringSubmatch(above, -1)
			if len(shown) == 0 {
				t.Errorf("%s: the page shows no %s", c, word)
				continue
			}
			args[i] = filepath.Join(d.home, word)
			if err := os.WriteFile(args[i], []byte(shown[len(shown)-1][1]), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if last := len(args) - 1; args[last] == "-p" {
		args = append(args, "{}") // of xargs
	}
	return args
}

var (
	index   = regexp.MustCompile(`\[[^\]]*\]`)
	ofValue = regexp.MustCompile(`\{\.([^}]+)\}`)
	// named are conditions, reasons and labels of ours.
	named = regexp.MustCompile(`@\.type=="(\w+)"|\breason=(\w+)|\b(rankwright\.dev/[\w.-]+)`)
)

// fields are those that a command reads by a path, as kubectl explain takes them.
func fields(words []string) []string {
	at := slices.Index(words, "get")
	if at < 0 || at+1 == len(words) {
		return nil
	}
	var found []string
	for _, word := range words {
		if path, given := strings.CutPrefix(word, "--sort-by="); given {
			found = append(found, words[at+1]+path)
		}
		for _, m := range ofValue.FindAllStringSubmatch(index.ReplaceAllString(word, ""), -1) {
			path := strings.TrimPrefix(m[1], "items.")
			if words[at+1] == "controllerrevision" {
				path, _, _ = strings.Cut(path, ".") // of data no schema knows more
			}
			found = append(found, words[at+1]+"."+path)
		}
	}
	return found
}

// unsaid are names of ours that a command asks for and that neither the product nor the page of labels says.
func (d documented) unsaid(words []string) []string {
	var found []string
	for _, m := range named.FindAllStringSubmatch(strings.Join(words, " "), -1) {
		name := m[1] + m[2] + m[3]
		label, isLabel := strings.CutPrefix(name, "rankwright.dev/")
		vendor, rest, ofVendor := strings.Cut(label, ".")
		switch {
		case isLabel && (strings.Contains(d.said, `"`+label+`"`) || strings.Contains(d.said, name+`"`) || strings.Contains(d.said, "| `"+label+"` |")):
		case isLabel && ofVendor && vendor != "" && strings.Contains(d.said, "`<vendor>."+rest+"`"):
		case !isLabel && strings.Contains(d.said, `"`+name+`"`):
		default:
			found = append(found, name)
		}
	}
	return found
}
