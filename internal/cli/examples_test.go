package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

// unplayed are the examples of commands that do not end, or read what is not here. Those that ask a cluster are run by test/integration/live.
var unplayed = map[string]string{
	"kubectl rankwright detect --watch":                    "it does not end",
	"kubectl rankwright detect --record":                   "a recording of this host would take the place of the one that others read: run by TestRecordedThisHostIsTheSame",
	"kubectl rankwright ui":                                "it does not end: run by test/browser and test/integration/live",
	"kubectl rankwright calibrate --metrics":               "run by TestCalibrationFromMetrics with a service that answers",
	"kubectl rankwright recommend --model Llama-3.3-70B\n": "it asks a cluster",
	"kubectl rankwright plan -f placement.yaml\n":          "it asks a cluster",
	"kubectl rankwright plan --model":                      "it asks a cluster",
	"kubectl rankwright model inspect llama-3.1-8b":        "GGUF files are read by pkg/model/checkpoint's tests",
	"vllm bench serve":                                     "it is an engine's",
}

// TestExamplesOfHelp runs the examples in the help of all commands that need no cluster, each as a shell would in a folder that has the files
// that it names. A line that fails there fails for who copies it.
func TestExamplesOfHelp(t *testing.T) {
	t.Chdir(exampleFolder(t))
	played := 0
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, line := range exampleLines(c.Example) {
			if play(t, line) {
				played++
			}
		}
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	for _, child := range newRoot(term.Streams{}).Commands() {
		if child.GroupID == "alone" || slices.Contains([]string{"plan", "recommend"}, child.Name()) {
			visit(child)
		}
	}
	if played < 50 {
		t.Errorf("%d examples were run: they are not found any more", played)
	}
}

// exampleLines are the commands of an example, each in one line.
func exampleLines(example string) []string {
	joined := regexp.MustCompile(`(\\|\|)\n\s*`).ReplaceAllStringFunc(example, func(end string) string {
		return strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(end), `\`), "\n ") + " "
	})
	var lines []string
	for line := range strings.Lines(joined) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// play runs a line, and says whether it did.
func play(t *testing.T, line string) bool {
	t.Helper()
	for begins := range unplayed {
		if strings.HasPrefix(line+"\n", begins) {
			return false
		}
	}
	line, file, _ := strings.Cut(line, " > ")
	var out string
	for stage := range strings.SplitSeq(line, " | ") {
		args, ours := strings.CutPrefix(strings.TrimSpace(stage), "kubectl rankwright ")
		if !ours {
			out = gotten(t, stage)
			continue
		}
		r := run(t, out, words(strings.ReplaceAll(args, "'", `"`))...)
		// What this host has decides whether a requirement is met and a model fits.
		ofHost := strings.HasPrefix(args, "detect") && !strings.Contains(args, " -f ") && !strings.Contains(args, "--replay") || strings.Contains(line, "detect -o yaml |") || args == "models --fit"
		if r.Code != term.ExitOK && (!ofHost || r.Code == term.ExitUsage) {
			t.Errorf("%s: exit code %d, %s", line, r.Code, r.Err)
		}
		out = r.Out
	}
	if file != "" {
		write(t, file, out)
	}
	return true
}

// gotten is what `kubectl get` of an example prints: the objects of a cluster that simulate wrote, or of the plan on it.
func gotten(t *testing.T, command string) string {
	t.Helper()
	name := "cluster.yaml"
	switch {
	case strings.Contains(command, "shardingplans"):
		name = "chat.yaml"
	case strings.Contains(command, "dmesh"):
		name = "plan.yaml"
	case !strings.HasPrefix(command, "kubectl get accinv"):
		t.Errorf("%q: nothing is known of what it prints", command)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// exampleFolder makes a folder with the files that examples name.
func exampleFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	ok(t, "", "simulate", "--shape", "h100x8=2", "--write", in("simulated"))
	parts, err := filepath.Glob(in("simulated/*"))
	if err != nil || len(parts) == 0 {
		t.Fatal("nothing is simulated", err)
	}
	var cluster bytes.Buffer
	for _, part := range parts {
		cluster.WriteString("---\n" + read(t, part))
	}
	example := func(name string) string {
		return strings.Replace(read(t, filepath.Join("..", "..", "examples", name+".yaml")), "name: "+name, "name: llm", 1)
	}
	for name, content := range map[string]string{
		"cluster.yaml": cluster.String(), "inventories.yaml": cluster.String(), "placement.yaml": example("single"), "tensor.yaml": example("tensor"),
		"inventory.yaml": ok(t, "", "detect", "--replay", clitest.RecordingOf(t, "nvidia-h100-8"), "-o", "yaml"),
		"host.tar.gz":    read(t, clitest.RecordingOf(t, "nvidia-h100-8")), "node-1.tar.gz": read(t, clitest.RecordingOf(t, "nvidia-h100-8")),
		"c32.json": read(t, clitest.Testdata(t, "calibration", "medium.json")), "chat.yaml": read(t, clitest.Testdata(t, "calibration", "chat.yaml")),
		"trace.csv": azure, "config.json": config, "prices.yaml": ownPrices,
	} {
		write(t, in(name), content)
	}
	write(t, in("plan.yaml"), ok(t, "", "plan", "-f", in("inventories.yaml"), "-f", in("tensor.yaml"), "-o", "yaml"))
	if err := os.Rename(modelFolder(t, "BF16", 2), in("Llama-3.1-8B")); err != nil {
		t.Fatal(err)
	}
	return folder
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
