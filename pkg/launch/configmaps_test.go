package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Every variable and argument of each process reaches it through the files as a real shell reads them.
func TestShellReadsTheFiles(t *testing.T) {
	odd := Variable{"ODD", `it's $HOME "quoted" \ and ` + "`more`"}
	f := fixture{engine: v1alpha1.EngineTorch, strategy: degrees(2, 1, 2), nodes: []int{3, 1}, options: Options{Hosts: hosts(t, "llm-{pod}.llm")}}
	for _, launcher := range []string{"env", "vllm", "ray", "deepspeed"} {
		if launcher == "vllm" {
			f.nodes = []int{2, 2}
		}
		b := f.bundle(t, launcher)
		b.Pods[0].Variables = append(b.Pods[0].Variables, odd)
		folder := t.TempDir()
		for _, file := range b.All() {
			text := strings.ReplaceAll(file.Content, Folder, folder)
			if err := os.WriteFile(filepath.Join(folder, file.Name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, pod := range b.Pods {
			for local, rank := range pod.Ranks {
				want, err := b.OfRank(0, rank)
				if err != nil {
					t.Fatal(err)
				}
				name := PodFile(pod.Pod)
				if len(pod.Processes) > 1 {
					name = processFile(pod.Pod, local)
				}
				got := readByShell(t, filepath.Join(folder, name), want)
				want = &Environment{Variables: want.Variables, Arguments: want.Arguments}
				for i := range want.Variables {
					want.Variables[i].Value = strings.ReplaceAll(want.Variables[i].Value, Folder, folder)
				}
				for i := range want.Arguments {
					want.Arguments[i] = strings.ReplaceAll(want.Arguments[i], Folder, folder)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, pod %d, process %d (-want +got):\n%s", launcher, pod.Pod, local, diff)
				}
			}
		}
	}
}

// readByShell is what a shell has after it read a file: the variables that are looked for, and the words of the arguments.
func readByShell(t *testing.T, name string, want *Environment) *Environment {
	t.Helper()
	script := ". " + name + "\n"
	for _, v := range want.Variables {
		script += fmt.Sprintf("printf '%%s\\0' \"$%s\"\n", v.Name)
	}
	script += "for word in $RANKWRIGHT_ARGS; do printf '%s\\0' \"$word\"; done\n"
	command := exec.CommandContext(t.Context(), "/bin/sh", "-euc", script)
	command.Env = []string{"RANKWRIGHT_ARGS=of another"}
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	got := &Environment{}
	for i, v := range want.Variables {
		got.Variables = append(got.Variables, Variable{v.Name, words[i]})
	}
	if len(words) > len(want.Variables) {
		got.Arguments = words[len(want.Variables):]
	}
	return got
}

// A placement of 10,000 ranks keeps every file, in ConfigMaps of at most 900 KiB.
func TestConfigMapsOf10000Ranks(t *testing.T) {
	nodes := slices.Repeat([]int{8}, 1250)
	for engine, vendor := range map[v1alpha1.Engine]string{
		v1alpha1.EngineTorch: "nvidia", v1alpha1.EngineVLLM: "nvidia", v1alpha1.EngineMPI: "nvidia", v1alpha1.EngineJAX: "google", v1alpha1.EngineMegatron: "nvidia",
		"example.com/trainer": "aws",
	} {
		t.Run(string(engine), func(t *testing.T) {
			f := fixture{engine: engine, vendor: vendor, strategy: degrees(8, 1, 1250), nodes: nodes, options: Options{Hosts: hosts(t, "llm-{pod}.llm.models")}}
			b, err := f.job(t).Write("")
			if err != nil {
				t.Fatal(err)
			}
			parts, err := b.ConfigMaps()
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, part := range parts {
				size := 0
				for name, content := range part {
					files[name] = content
					size += len(name) + len(content)
				}
				if size > 900<<10 {
					t.Errorf("a ConfigMap has %d bytes", size)
				}
			}
			all := b.All()
			for _, f := range all {
				if files[f.Name] != f.Content {
					t.Errorf("file %s is lost", f.Name)
				}
			}
			if len(files) != len(all) || len(b.Pods) != 1250 {
				t.Errorf("%d files of %d for %d pods", len(files), len(all), len(b.Pods))
			}
		})
	}
}

func TestConfigMapsThatCannotBe(t *testing.T) {
	large := &Bundle{Copies: []CopyEnvironment{{Files: []File{{"copy-0.hostfile", strings.Repeat("x", 900<<10)}}}}}
	if _, err := large.ConfigMaps(); err == nil || !strings.Contains(err.Error(), "file copy-0.hostfile has") {
		t.Errorf("error %v", err)
	}
	many := &Bundle{Pods: make([]PodEnvironment, 17)}
	for i := range many.Pods {
		many.Pods[i] = PodEnvironment{Pod: i, Environment: Environment{Variables: []Variable{{"A", strings.Repeat("x", 500<<10)}}}}
	}
	if _, err := many.ConfigMaps(); err == nil || !strings.Contains(err.Error(), "fill 17 ConfigMaps") {
		t.Errorf("error %v", err)
	}
}

// Only the engine's launchers, and the launchers of the devices' runtime, are written down.
func TestOnlyTheEnginesFiles(t *testing.T) {
	for engine, want := range map[v1alpha1.Engine][]string{
		v1alpha1.EngineVLLM: {"vllm"}, v1alpha1.EngineSGLang: {"sglang"}, v1alpha1.EngineTensorRTLLM: {"tensorrt-llm"}, v1alpha1.EngineMegatron: {"megatron"},
		v1alpha1.EngineDeepSpeed: {"deepspeed", "env"}, v1alpha1.EngineTorch: {"env", "torchrun"}, v1alpha1.EngineJAX: {"jax"}, v1alpha1.EngineMPI: {"openmpi", "mpich"},
	} {
		b, err := fixture{engine: engine, strategy: degrees(2, 2, 1), layers: []int{4, 4}}.job(t).Write("")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.Launchers); diff != "" || len(b.Skipped) > 0 {
			t.Errorf("%s (-want +got):\n%s skipped %v", engine, diff, b.Skipped)
		}
	}
}

func BenchmarkConfigMapsOf10000Ranks(b *testing.B) {
	plan, spec := fixture{engine: v1alpha1.EngineTorch, strategy: degrees(8, 1, 1250), nodes: slices.Repeat([]int{8}, 1250)}.plan(b)
	for b.Loop() {
		job, err := NewJob(plan, spec, Options{})
		if err != nil {
			b.Fatal(err)
		}
		bundle, err := job.Write("")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bundle.ConfigMaps(); err != nil {
			b.Fatal(err)
		}
	}
}
