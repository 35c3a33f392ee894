package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/document"
)

// Every feature has a source and a version, and is asked for by arguments of the table; every argument of what a server does asks for one.
func TestTablesOfFeatures(t *testing.T) {
	for _, e := range table {
		asked := map[Purpose]bool{}
		seen := map[Feature]bool{}
		for i := range e.Serves.Offers {
			o := &e.Serves.Offers[i]
			if seen[o.Feature] || !strings.HasPrefix(o.Source, "https://") || version(t, o.Since) == nil || older(e.Looked, o.Since) {
				t.Errorf("%s: %+v is twice in the table, or has no source, or is of a later version than %s", e.Name, *o, e.Looked)
			}
			seen[o.Feature] = true
			for _, p := range o.By {
				asked[p] = true
				if e.Arguments.For(p) == nil {
					t.Errorf("%s: %s is asked for by %q, for which there is no argument", e.Name, o.Feature, p)
				}
			}
			if drafter := e.Arguments.For(ForDrafter); o.Word != "" && !slices.Contains(drafter.Values, o.Word) {
				t.Errorf("%s: %s has the word %q, which is none of %v", e.Name, o.Feature, o.Word, drafter.Values)
			}
		}
		for _, list := range []Arguments{vllmServing, sglangServing, tensorRTServing} {
			for i := range list {
				if e.Arguments.named(list[i].Name) != nil && !asked[list[i].For] {
					t.Errorf("%s: nothing asks for %s", e.Name, list[i].Name)
				}
			}
		}
	}
}

// TestTheDocumentedFeatures holds the table of docs/use/serving-options.md to the rows.
func TestTheDocumentedFeatures(t *testing.T) {
	document.Table(t, "../../docs/use/serving-options.md", documentedFeatures(), *update)
}

func documentedFeatures() string {
	var b strings.Builder
	b.WriteString("| field | engine | since | arguments |\n| --- | --- | --- | --- |\n")
	for _, first := range vllm.Serves.Offers {
		for e := range Rows() {
			o := e.Offer(first.Feature)
			if o == nil {
				continue
			}
			told := "nothing: it does it unasked"
			if len(o.By) > 0 {
				names := make([]string, len(o.By))
				for i, p := range o.By {
					names[i] = "`" + e.Arguments.For(p).Name + "`"
				}
				told = strings.Join(names, ", ")
			}
			fmt.Fprintf(&b, "| %s | %s | [%s](%s) | %s |\n", o.Feature, e.Name, o.Since, o.Source, told)
		}
	}
	return b.String()
}

func TestRefusesServing(t *testing.T) {
	mtp := &v1alpha1.Speculation{Method: v1alpha1.SpeculationMTP, Tokens: 1, AcceptancePercent: 80}
	for name, test := range map[string]struct {
		engine  v1alpha1.Engine
		options v1alpha1.ServingOptions
		want    string
	}{
		"nothing":              {v1alpha1.EngineMegatron, v1alpha1.ServingOptions{}, ""},
		"drafts":               {v1alpha1.EngineVLLM, v1alpha1.ServingOptions{Speculation: mtp}, ""},
		"a trainer":            {v1alpha1.EngineMegatron, v1alpha1.ServingOptions{Speculation: mtp}, "Megatron is not known to have it: use the engine vLLM, SGLang or TensorRT-LLM, or leave speculation out"},
		"a program of its own": {"example.com/engine", v1alpha1.ServingOptions{Adapters: &v1alpha1.Adapters{Count: 1, Rank: 8}}, "or leave adapters out"},
		"too old": {
			v1alpha1.EngineVLLM,
			v1alpha1.ServingOptions{EngineVersion: "0.14.1", Offload: &v1alpha1.CacheOffload{GiB: 1}},
			"vLLM is known to have it since 0.15.0 (https://github.com/vllm-project/vllm/pull/24498), and engineVersion is 0.14.1: start a later version, or leave offload out",
		},
		"new enough": {v1alpha1.EngineVLLM, v1alpha1.ServingOptions{EngineVersion: "0.15.0", Offload: &v1alpha1.CacheOffload{GiB: 1}}, ""},
		"no word":    {v1alpha1.EngineVLLM, v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "Medusa"}}, "no engine of the table is"},
	} {
		e, err := Find(test.engine)
		if err != nil {
			t.Fatal(err)
		}
		err = e.RefusesServing(&test.options)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// vLLM makes room in steps of ranks, the others in any.
func TestAdapterRanks(t *testing.T) {
	for rank, want := range map[int64]int64{1: 8, 8: 8, 12: 16, 257: 320, 512: 512, 513: 0} {
		if got := vllm.AdapterRank(rank); got != want {
			t.Errorf("rank %d is told as %d, want %d", rank, got, want)
		}
		if got := sglang.AdapterRank(rank); got != rank {
			t.Errorf("SGLang is told rank %d as %d", rank, got)
		}
	}
}

// A version has the defaults of the last change that it has; the one that the row was compared with those of the row.
func TestDefaultsByVersion(t *testing.T) {
	for _, e := range table {
		for i, c := range e.Changes {
			if !strings.HasPrefix(c.Source, "https://") || i > 0 && !older(e.Changes[i-1].Since, c.Since) {
				t.Errorf("%s: the change of %s has no source, or follows a later one", e.Name, c.Since)
			}
		}
		if of := e.MemoryIn(e.Looked); of.Permille != e.Memory.Permille || of.Whole != e.Memory.Whole || !slices.Equal(of.Batches, e.Memory.Batches) {
			t.Errorf("%s %s has other defaults than the row", e.Name, e.Looked)
		}
	}
	h100 := Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", Bytes: 80 * gib}
	for version, want := range map[string]struct {
		permille int64
		batch    Batch
	}{
		"": {900, Batch{8192, 1024}}, "0.7.3": {900, Batch{2048, 256}}, "0.8.0": {900, Batch{8192, 1024}}, "0.20.2": {900, Batch{8192, 1024}},
		"0.21.0": {920, Batch{8192, 1024}}, "0.26.1rc1": {920, Batch{8192, 1024}}, "1.0": {920, Batch{8192, 1024}},
	} {
		of := vllm.MemoryIn(version)
		if of.Permille != want.permille || of.Limits(h100, false) != want.batch {
			t.Errorf("vLLM %q takes %d with steps of %v, want %v", version, of.Permille, of.Limits(h100, false), want)
		}
	}
}

// TestWholeLayers tells which layers keep all tokens, by version.
func TestWholeLayers(t *testing.T) {
	chunks := &v1alpha1.Architecture{Attention: v1alpha1.Attention{SlidingWindow: 8192, FullAttentionEvery: 4, Chunked: true}}
	windows := &v1alpha1.Architecture{Attention: v1alpha1.Attention{SlidingWindow: 1024, FullAttentionEvery: 6}}
	listed := &v1alpha1.Architecture{Mixers: "WF", Attention: v1alpha1.Attention{SlidingWindow: 1024}}
	alike := &v1alpha1.Architecture{Attention: v1alpha1.Attention{SlidingWindow: 4096}}
	for version, want := range map[string][4]bool{
		"": {}, "0.8.3": {true, true, true, false}, "0.9.1": {true, false, false, false}, "0.10.0": {},
		"0.10.1": {true, false, false, false}, "0.13.0": {},
	} {
		of := vllm.MemoryIn(version).Whole
		if got := [4]bool{of.Keeps(chunks), of.Keeps(windows), of.Keeps(listed), of.Keeps(alike)}; got != want {
			t.Errorf("vLLM %q keeps all tokens in layers of chunks, of windows, of listed windows, of windows alone: %v, want %v", version, got, want)
		}
	}
}
