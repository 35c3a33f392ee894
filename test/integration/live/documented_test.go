package live

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/test/document"
)

// readers is what stands in the documents for names of the reader's own, and what those are in the world of the tests.
var readers = map[string]string{
	"NAMESPACE": home, "mp/NAME": "mp/single", "mp/llama": "mp/single", "pod/llama-0": "pod/single-0", "node/node-1": "node/l40s-0",
	"device/node-1/nvidia-0000:17:00.0": "device/l40s-0/nvidia-0000:81:00.0",
}

// elsewhere are commands of documents that other tests run: by their first words.
var elsewhere = map[string]string{
	"record node/":        "records",
	"ui":                  "ui, and test/browser",
	"why pod/drained-pod": "TestWhyPodsArePending", "why pod/stranger-pod": "TestWhyPodsArePending",
}

// Examples of help, of which the reference is made, are run by TestExamplesOfHelp, which has files for them.
const reference = "docs/reference/cli.md"

var ofFiles = regexp.MustCompile(`^(-f|FILE|PATH|RESULT.*|--record|--write|\./.*|.*\.(yaml|json|csv|gguf|tar\.gz))$`)

// documentedCommands runs every command of the plugin that the documents give and that asks a cluster, or needs no file of the reader's own. It comes last, since some change what is there.
func documentedCommands(w *world) {
	w.Setenv("KUBECONFIG", w.production())
	w.edit("single", func(p *v1alpha1.ModelPlacement) {
		p.Spec.Verification = &v1alpha1.Verification{Mode: v1alpha1.VerificationReport}
	})
	asked := map[string]bool{}
	for _, c := range document.Commands(w.T) {
		args, found := w.typed(c)
		line := strings.Join(args, " ")
		if !found || asked[line] {
			continue
		}
		asked[line] = true
		r := w.run(0, "", args...)
		differs := args[0] == "diff" && r.Code == term.ExitAlert
		tooLarge := args[0] == "estimate" && r.Code == term.ExitFailure // which is what the page shows
		if r.Code != term.ExitOK && !differs && !tooLarge || r.Out == "" {
			w.Errorf("%s, run as %q: exit code %d, errors %q, output %q", c, args, r.Code, r.Err, r.Out)
		}
	}
	const least = 55
	if len(asked) < least {
		w.Errorf("%d commands: they are not found any more", len(asked))
	}
}

// typed are the arguments of the plugin in a command of the documents, as a reader with this cluster types them; false for commands of other
// programs, those that need files, and those that are run elsewhere.
func (w *world) typed(c document.Command) (args []string, found bool) {
	w.Helper()
	if c.Inline || len(c.Words) < 3 || c.Program != "kubectl" || c.Words[1] != "rankwright" {
		return nil, false
	}
	args = slices.DeleteFunc(slices.Clone(c.Words[2:]), func(word string) bool { return word == "--watch" }) // which never ends
	at := slices.IndexFunc(cli.Command().Commands(), func(of *cobra.Command) bool { return of.Name() == args[0] })
	if at < 0 || cli.Command().Commands()[at].GroupID == "alone" && (c.Page == reference || slices.ContainsFunc(args, ofFiles.MatchString)) {
		return nil, false
	}
	for begins := range elsewhere {
		if strings.HasPrefix(strings.Join(args, " "), begins) {
			return nil, false
		}
	}
	for i, word := range args {
		if own, is := readers[word]; is {
			args[i] = own
		}
		if i > 0 && args[i-1] == "-f" {
			if word != "placement.yaml" {
				return nil, false // of files alone, which internal/cli runs
			}
			args[i] = w.write(w.example("single"))
		}
	}
	if len(args) == 1 && args[0] == "cordon" { // after xargs
		args = append(args, strings.Fields(w.asks("top", "devices", "--state", "Idle", "-o", "name"))[0])
	}
	return args, true
}

// production is a kubeconfig whose context has that name and the namespace of the placements.
func (w *world) production() string {
	w.Helper()
	const name = "production"
	config, err := clientcmd.LoadFromFile(w.kubeconfig)
	w.Must(err)
	config.Contexts[name] = config.Contexts[config.CurrentContext].DeepCopy()
	config.Contexts[name].Namespace, config.CurrentContext = home, name
	file := filepath.Join(w.kubeconfigs, name)
	w.Must(clientcmd.WriteToFile(*config, file))
	return file
}
