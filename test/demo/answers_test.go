package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/repository"
)

// pictures has the picture of the page taken anew, by the Chromium in the PATH.
var pictures = flag.Bool("pictures", false, "write the picture of docs/start anew")

// asked are the plugin's commands in docs/start/demo.md, with how many lines the page shows of each; 0 is all.
var asked = []struct {
	command string
	lines   int
}{
	{command: "top"},
	{command: "tree mp/pipeline"},
	{command: "why mp/too-large"},
	{command: "why mp/tensor"},
	{command: "explain mp/single", lines: 38},
}

// answers asks a demo that was left running what docs/start/demo.md shows. What the host of the test has is no part of the page, so that
// on a host with accelerators nothing is compared.
func answers(t *testing.T, printed []string) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := found(t, printed, `KUBECONFIG=(\S+)`)
	plugin := func(args ...string) string {
		command := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kubectl-rankwright"), append(args, "--kubeconfig", kubeconfig)...)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("kubectl rankwright %s: %v\n%s", strings.Join(args, " "), err, output)
		}
		return string(output)
	}
	if got := strings.TrimSpace(plugin("top", "devices", "-o", "name")); strings.Contains(got, "device/"+hostName()+"/") {
		t.Logf("this host has accelerators, so that the demo answers otherwise than docs/start/demo.md: %s", got)
		return
	}
	page := clitest.ReadPage(t, filepath.Join(root, "docs", "start", "demo.md"))
	for _, a := range asked {
		line, output := a.command, plugin(strings.Fields(a.command)...)
		if a.lines > 0 {
			line, output = a.command+" | head -"+strconv.Itoa(a.lines), first(output, a.lines)
		}
		page.Show(t, line, output)
	}
	page.Hold(t)
	if *pictures {
		picture(t, found(t, printed, `The page is at (\S+)`), filepath.Join(root, "docs", "start", "demo.png"))
	}
}

// found returns what a pattern captures in what was printed.
func found(t *testing.T, printed []string, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(strings.Join(printed, "\n"))
	if match == nil {
		t.Fatalf("the demo did not print %s", pattern)
	}
	return match[1]
}

// first returns the first lines of a text.
func first(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[:min(lines, len(all))], "")
}

// picture takes a picture of a page, when it shows what it has.
func picture(t *testing.T, address, file string) {
	t.Helper()
	const patience = "--timeout=8000" // milliseconds
	command := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--window-size=1280,720", patience, "--screenshot="+file, address)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
}
