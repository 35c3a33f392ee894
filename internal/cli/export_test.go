package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/launch"
)

// twoHosts is the plan and the mesh of a model on two hosts, as plan writes them without a cluster.
func twoHosts(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(scenariosFolder, "05-405b-two-hosts")
	flags, err := os.ReadFile(filepath.Join(folder, "cluster.txt"))
	if err != nil {
		t.Fatal(err)
	}
	cluster := filepath.Join(t.TempDir(), "cluster")
	ok(t, "", append(append([]string{"simulate"}, strings.Fields(string(flags))...), "--write", cluster)...)
	return ok(t, "", "plan", "-f", cluster, "-f", filepath.Join(folder, "placement.yaml"), "-o", "yaml")
}

func TestExport(t *testing.T) {
	plan := twoHosts(t)
	export := func(args ...string) string {
		return ok(t, plan, append([]string{"export", "mesh/large", "-f", "-", "--hosts", "large-{pod}.large"}, args...)...)
	}
	clitest.Golden(t, "export-vllm.txt", export())
	clitest.Golden(t, "export-openmpi.txt", export("--for", "openmpi"))
	clitest.Golden(t, "export-rank.txt", export("--for", "env", "-o", "env", "--rank", "9"))

	bundle := clitest.Object[launch.Bundle](t, export("--for", "torchrun", "-o", "json"))
	if len(bundle.Pods) != 2 || bundle.Pods[1].Host != "large-1.large" || !cmp.Equal(bundle.Launchers, []string{"torchrun"}) {
		t.Errorf("bundle %+v", bundle)
	}
	want, err := bundle.OfPod(1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*want, clitest.Object[launch.Environment](t, export("--for", "torchrun", "-o", "json", "--pod", "1"))); diff != "" {
		t.Errorf("pod 1 (-want +got):\n%s", diff)
	}
	if got := strings.Count(export("--devices-per-pod", "4"), "==> pod-"); got != 4 {
		t.Errorf("%d pods of 4 devices, want 4", got)
	}
}

// TestExportOfWhatAServerDoes: what a plan was asked to count is what its engine is started with.
func TestExportOfWhatAServerDoes(t *testing.T) {
	plan := ok(t, "", "recommend", "--model", "DeepSeek-V3", "--device", "H200", "--devices", "8", "-o", "yaml",
		"--serving", "speculation.method=MTP,speculation.tokens=1,speculation.acceptancePercent=85", "--serving", "memoryUtilizationPercent=88,prefixCache.hitPercent=30")
	got := ok(t, plan, "export", "mesh/deepseek-v3", "-f", "-", "-o", "env")
	for _, want := range []string{"--gpu-memory-utilization 0.88 --enable-prefix-caching", "--speculative-config.method mtp --speculative-config.num_speculative_tokens 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("vLLM is started with\n%s, not with %s", got, want)
		}
	}
}

// TestExportNamesTheDraftOfTheCatalogue: an engine loads a draft model by its id on the hub, whatever name the plan was asked for with.
func TestExportNamesTheDraftOfTheCatalogue(t *testing.T) {
	plan := ok(t, "", "recommend", "--model", "Llama-3.1-70B", "--device", "H200", "--devices", "4", "-o", "yaml",
		"--serving", "speculation.method=Draft,speculation.model=Llama-3.2-1B,speculation.tokens=4,speculation.acceptancePercent=70")
	if got, want := ok(t, plan, "export", "mesh/llama-3.1-70b", "-f", "-", "-o", "env"), "--speculative-config.model meta-llama/Llama-3.2-1B "; !strings.Contains(got, want) {
		t.Errorf("vLLM is started with\n%s, not with %s", got, want)
	}
}

func TestExportIntoAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "files")
	plan := twoHosts(t)
	if out := ok(t, plan, "export", "dmesh/large", "-f", "-", "--hosts", "large-{pod}", "--folder", folder); out != "" {
		t.Errorf("output %q", out)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	text, err := os.ReadFile(filepath.Join(folder, launch.PodFile(1)))
	if err != nil || !strings.Contains(string(text), "--node-rank 1 --headless") {
		t.Errorf("pod 1 has %s, %v", text, err)
	}
}

// Without a flag spec.launch of the placement counts.
func TestExportFollowsThePlacement(t *testing.T) {
	plan := twoHosts(t) + `---
apiVersion: rankwright.dev/v1alpha1
kind: ModelPlacement
metadata:
  name: large
spec:
  launch: {hosts: "here-{pod}", devicesPerPod: 4, launcher: ray}
`
	out := ok(t, plan, "export", "mesh/large", "-f", "-")
	if !strings.Contains(out, "RAY_ADDRESS='here-0:6379'") || strings.Count(out, "==> pod-") != 4 {
		t.Errorf("files %s", out)
	}
	if out := ok(t, plan, "export", "mesh/large", "-f", "-", "--hosts", "there-{pod}", "--for", "vllm"); !strings.Contains(out, "--master-addr there-0") {
		t.Errorf("files %s", out)
	}
}

func TestExportThatCannotBe(t *testing.T) {
	plan := twoHosts(t)
	base := []string{"export", "mesh/large", "-f", "-"}
	tests := map[string]struct {
		stdin string
		args  []string
		code  int
		want  string
	}{
		"no mesh":            {"", []string{"export", "-f", "-"}, term.ExitUsage, "give one, as mesh/NAME"},
		"another kind":       {"", []string{"export", "pod/large", "-f", "-"}, term.ExitUsage, `"pod/large" is no mesh`},
		"no file":            {"", []string{"export", "mesh/large"}, term.ExitUsage, "give the DeviceMesh and its ShardingPlan with -f"},
		"pod and rank":       {"", append(base, "--pod", "0", "--rank", "0", "-o", "env"), term.ExitUsage, "give one of them"},
		"a pod's files":      {"", append(base, "--pod", "0"), term.ExitUsage, "add -o env or -o json"},
		"a folder of JSON":   {"", append(base, "--folder", "x", "-o", "json"), term.ExitUsage, "--folder is for -o files"},
		"format":             {"", append(base, "-o", "yaml"), term.ExitUsage, "use one of files, env, json"},
		"no such mesh":       {"", base, term.ExitFailure, "no DeviceMesh large in the files"},
		"no such namespace":  {plan, append(base, "-n", "other"), term.ExitFailure, "no DeviceMesh large in the files"},
		"no plan":            {strings.Replace(plan, "name: large-1", "name: large-2", 1), base, term.ExitFailure, "no ShardingPlan large-1 in the files"},
		"twice":              {plan + "---\n" + plan, base, term.ExitFailure, "more than once"},
		"launcher":           {plan, append(base, "--for", "slurm", "--hosts", "a-{pod}"), term.ExitFailure, `launcher "slurm" is unknown`},
		"hosts":              {plan, append(base, "--hosts", "{rank}"), term.ExitFailure, "{rank} is unknown"},
		"size of pods":       {plan, append(base, "--devices-per-pod", "0"), term.ExitUsage, "--devices-per-pod 0: give at least 1"},
		"which pod":          {plan, append(base, "-o", "env", "--hosts", "a-{pod}"), term.ExitUsage, "choose one with --pod or a rank with --rank"},
		"no such rank":       {plan, append(base, "-o", "env", "--hosts", "a-{pod}", "--rank", "16"), term.ExitFailure, "copy 0 has ranks 0 to 15"},
		"a launcher of TPUs": {plan, append(base, "--for", "tpu", "--hosts", "a-{pod}"), term.ExitFailure, "devices are of nvidia, not TPUs"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, test.stdin, test.args...)
			if r.Code != test.code || !strings.Contains(r.Err, test.want) || r.Out != "" {
				t.Errorf("exit code %d, errors %q, output %q; want %d and %q", r.Code, r.Err, r.Out, test.code, test.want)
			}
		})
	}
}
