package launch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const (
	sglangValues = "--tp-size --pp-size --dp-size --ep-size --max-running-requests --chunked-prefill-size --kv-cache-dtype --nnodes --node-rank --dist-init-addr " +
		"--revision --quantization --dtype --context-length --mem-fraction-static --moe-dense-tp-size --moe-a2a-backend"
	sglangSwitches = "--enable-eplb --enable-dp-attention"
)

// sglangRanks are the ranks that SGLang gives a node: rank = tensor rank + stage x tensor size. Source:
// sglang/srt/entrypoints/engine.py (_calculate_rank_ranges).
func sglangRanks(t *testing.T, read map[string]string) []int {
	t.Helper()
	tensor, stages := number(t, read["--tp-size"]), number(t, read["--pp-size"])
	nodes, node := orNumber(t, read, "--nnodes", 1), orNumber(t, read, "--node-rank", 0)
	stagesEach, nodesEach := max(stages/nodes, 1), max(nodes/stages, 1)
	tensorEach := tensor / nodesEach
	var ranks []int
	for stage := stagesEach * (node / nodesEach); stage < stagesEach*(node/nodesEach+1); stage++ {
		for rank := tensorEach * (node % nodesEach); rank < tensorEach*(node%nodesEach+1); rank++ {
			ranks = append(ranks, stage*tensor+rank)
		}
	}
	return ranks
}

func TestSGLangGivesEachPodItsRanks(t *testing.T) {
	for name, f := range map[string]fixture{
		"one node":             {strategy: degrees(4, 2, 1)},
		"two stages each":      {strategy: degrees(2, 4, 1), nodes: []int{4, 4}},
		"two nodes to a stage": {strategy: degrees(8, 2, 1), nodes: []int{4, 4, 4, 4}},
		"data in tensor ranks": {strategy: degrees(2, 1, 4), nodes: []int{4, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			f.engine = v1alpha1.EngineSGLang
			b := f.bundle(t, "sglang")
			for i, pod := range b.Pods {
				read := flags(t, ofPod(t, b, i), sglangValues, sglangSwitches)
				if diff := cmp.Diff(pod.Ranks, sglangRanks(t, read)); diff != "" {
					t.Errorf("pod %d (-planned +SGLang's):\n%s", i, diff)
				}
				if len(b.Pods) > 1 && read["--dist-init-addr"] != "10.0.0.0:20000" {
					t.Errorf("pod %d meets at %s", i, read["--dist-init-addr"])
				}
			}
		})
	}
}

// SGLang's limits apply to all data ranks together, and its tensor degree holds the data ranks.
func TestSGLangHasThePlansLimits(t *testing.T) {
	s := degrees(2, 1, 4)
	s.Expert = 8
	f := fixture{engine: v1alpha1.EngineSGLang, strategy: s, limits: &v1alpha1.StepLimits{Tokens: 2048, Sequences: 64, Length: 4096}, cache: v1alpha1.FP8}
	want := map[string]string{
		"--tp-size": "8", "--pp-size": "1", "--dp-size": "4", "--enable-dp-attention": "", "--ep-size": "8",
		"--max-running-requests": "256", "--chunked-prefill-size": "8192", "--kv-cache-dtype": "fp8_e4m3",
		"--context-length": "4096", "--mem-fraction-static": "0.9",
	}
	b := f.bundle(t, "sglang")
	if diff := cmp.Diff(want, flags(t, ofPod(t, b, 0), sglangValues, sglangSwitches)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// More data ranks than a host has devices send tokens to their experts alone, and have all else whole.
func TestSGLangSharesExpertsWidely(t *testing.T) {
	for _, test := range []struct {
		vendor       string
		data, expert int32
		want         string
	}{
		{"nvidia", 16, 16, "1 deepep"}, {"amd", 16, 16, "1 mori"}, {"nvidia", 8, 8, " "}, {"nvidia", 16, 8, " "},
	} {
		s := degrees(1, 1, test.data)
		s.Expert = test.expert
		b := fixture{engine: v1alpha1.EngineSGLang, vendor: test.vendor, strategy: s, nodes: []int{int(test.data) / 2, int(test.data) / 2}}.bundle(t, "sglang")
		read := flags(t, ofPod(t, b, 1), sglangValues, sglangSwitches)
		if got := read["--moe-dense-tp-size"] + " " + read["--moe-a2a-backend"]; got != test.want {
			t.Errorf("%d data and %d expert ranks of %s: %q, want %q", test.data, test.expert, test.vendor, got, test.want)
		}
	}
}

// Experts of more ranks than a host has devices are balanced: plans count on it.
func TestExpertsOfManyRanksAreBalanced(t *testing.T) {
	for _, launcher := range []string{"vllm", "sglang"} {
		for ranks, want := range map[int32]bool{8: false, 16: true} {
			s := degrees(1, 1, ranks)
			s.Expert = ranks
			b := fixture{engine: v1alpha1.Engine(map[string]string{"vllm": "vLLM", "sglang": "SGLang"}[launcher]), strategy: s, nodes: []int{int(ranks) / 2, int(ranks) / 2}}.bundle(t, launcher)
			if got := slices.Contains(ofPod(t, b, 1).Arguments, "--enable-eplb"); got != want {
				t.Errorf("%s with %d expert ranks: balanced %t, want %t", launcher, ranks, got, want)
			}
		}
	}
}

// Even a split that is SGLang's usual one is written down: some models are cut by their own balance.
func TestSGLangIsToldTheSplit(t *testing.T) {
	for _, layers := range [][]int{{30, 31}, {31, 30}} {
		b := fixture{engine: v1alpha1.EngineSGLang, strategy: degrees(1, 2, 1), layers: layers}.bundle(t, "sglang")
		if got := ints(t, variable(t, ofPod(t, b, 0), "SGLANG_PP_LAYER_PARTITION")); !slices.Equal(got, layers) {
			t.Errorf("partition %v, want %v", got, layers)
		}
	}
}

func TestSGLangRefuses(t *testing.T) {
	fixture{engine: v1alpha1.EngineSGLang, strategy: degrees(2, 3, 1), nodes: []int{3, 3}, options: Options{PodDevices: 3}}.refused(t, "sglang", "3 stages and 2 pods do not divide each other")
	s := degrees(2, 1, 1)
	s.Context = 2
	fixture{engine: v1alpha1.EngineVLLM, strategy: s}.refused(t, "sglang", "context 2")
}
