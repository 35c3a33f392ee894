package examples

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/launch"
)

// programs are what the containers start. Here they print their arguments and variables.
var programs = []string{"vllm", "torchrun", "mpirun", "pip", "python3"}

const standIn = `#!/bin/sh
printf '%s' "${0##*/}"
printf ' %s' "$@"
echo
env
`

var (
	// pythonVariables are the variables that a program in Python reads.
	pythonVariables = regexp.MustCompile(`environ\[["'](\w+)["']\]`)
	links           = regexp.MustCompile(`\]\(([^)]+)\)`)
)

// launchedBy are variables that a launcher sets for the processes that it starts.
var launchedBy = map[string][]string{"torchrun": {"LOCAL_RANK"}}

// start runs the script of a pod's first container in a shell, with its environment and files, and returns what the programs
// printed; FOLDER stands for the files' folder. A variable that is not set ends it.
func (w *world) start(pod *corev1.Pod, files map[string]string, manifest string) string {
	w.Helper()
	folder, bin := w.TempDir(), w.TempDir()
	moved := strings.NewReplacer(launch.Folder, folder)
	for name, content := range files {
		w.Must(os.WriteFile(filepath.Join(folder, name), []byte(moved.Replace(content)), 0o600))
	}
	for _, name := range programs {
		w.Must(os.WriteFile(filepath.Join(bin, name), []byte(standIn), 0o700)) //nolint:gosec // it is to be run
	}
	container := &pod.Spec.Containers[0]
	if len(container.Command) != 2 || container.Command[0] != "sh" || len(container.Args) != 1 {
		w.Fatalf("pod %s runs %v %v, not a script", pod.Name, container.Command, container.Args)
	}
	script := moved.Replace(container.Args[0])
	command := exec.CommandContext(w.Context(), "/bin/sh", "-euc", script) //nolint:gosec // the example's own script
	command.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	for _, variable := range container.Env {
		command.Env = append(command.Env, variable.Name+"="+moved.Replace(valueOf(w.T, pod, variable)))
	}
	output, err := command.CombinedOutput()
	if err != nil {
		w.Fatalf("the script of pod %s: %v\n%s", pod.Name, err, output)
	}
	text := strings.ReplaceAll(string(output), folder, "FOLDER")
	w.checkPython(manifest, text)
	return text
}

// valueOf resolves a variable as the kubelet does.
func valueOf(t *testing.T, pod *corev1.Pod, variable corev1.EnvVar) string {
	t.Helper()
	if variable.ValueFrom == nil {
		return variable.Value
	}
	field := variable.ValueFrom.FieldRef.FieldPath
	for kind, values := range map[string]map[string]string{"labels": pod.Labels, "annotations": pod.Annotations} {
		if key, is := strings.CutPrefix(field, "metadata."+kind+"['"); is {
			value, has := values[strings.TrimSuffix(key, "']")]
			if !has {
				t.Errorf("variable %s refers to %s, which pod %s does not have", variable.Name, field, pod.Name)
			}
			return value
		}
	}
	if field != "spec.nodeName" {
		t.Errorf("variable %s refers to %s", variable.Name, field)
	}
	return nodeOf(pod)
}

// nodeOf is the node that a bound pod must run on.
func nodeOf(pod *corev1.Pod) string {
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

// checkPython fails the test where a program of a manifest reads a variable that the pod does not have.
func (w *world) checkPython(manifest, output string) {
	w.Helper()
	root, err := repository.Root()
	w.Must(err)
	text, err := os.ReadFile(filepath.Join(root, manifest))
	w.Must(err)
	var set []string
	for program, variables := range launchedBy {
		if strings.HasPrefix(output, program+" ") {
			set = variables
		}
	}
	for _, found := range pythonVariables.FindAllSubmatch(text, -1) {
		if name := string(found[1]); !strings.Contains(output, "\n"+name+"=") && !slices.Contains(set, name) {
			w.Errorf("%s reads %s, which its pods do not have", manifest, name)
		}
	}
}

func valuesOf(files map[string]string) iter.Seq[string] { return maps.Values(files) }

// linked are the targets of the links of a document.
func linked(t *testing.T, path string) []string {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, found := range links.FindAllStringSubmatch(string(text), -1) {
		targets = append(targets, found[1])
	}
	if len(targets) == 0 {
		t.Fatal(fmt.Errorf("%s has no links", path))
	}
	return targets
}
