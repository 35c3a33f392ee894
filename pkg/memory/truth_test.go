package memory

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/test/figure"
)

// TestVLLMMeasuredMemory holds the facts' table of vLLM's memory to the bars.
func TestVLLMMeasuredMemory(t *testing.T) { holdToBars(t, "memory.json", truthRows(t)) }

// TestPublishedLogs holds the logs of testdata to the same bars.
func TestPublishedLogs(t *testing.T) { holdToBars(t, "published logs", published(t)) }

// holdToBars: weights within 2 %, or 5.5 % where the kernel pads them; the cache within 6 % where the limits of a step are
// recorded, else within 10 %; activations within 6 %.
func holdToBars(t *testing.T, table string, rows []measured) {
	t.Helper()
	worst := map[worstKey]worst{}
	for _, r := range rows {
		t.Run(r.Model+" on "+r.Product, func(t *testing.T) {
			weights, cache := 2.0, 10.0
			if r.Weights == v1alpha1.MXFP4 {
				weights = 5.5
			}
			if r.Recorded {
				cache = 6
			}
			p := predict(t, &r, mustFitted(t))
			within(t, "weights", p.weights, r.WeightsGiB, weights)
			within(t, "cache", p.cache, r.CacheGiB, cache)
			note(worst, worstKey{"weights", weights}, p.weights, r.WeightsGiB)
			note(worst, worstKey{"cache", cache}, p.cache, r.CacheGiB)
			if !r.NewSampler {
				within(t, "activations", p.activations, r.ActivationsGiB, 6)
				note(worst, worstKey{"activations", 6}, p.activations, r.ActivationsGiB)
			}
		})
	}
	for _, key := range slices.SortedFunc(maps.Keys(worst), func(a, b worstKey) int {
		return cmp.Or(-cmp.Compare(a.what, b.what), cmp.Compare(a.percent, b.percent))
	}) {
		figure.Percent(table, "vLLM's "+key.what+", the worst", worst[key].off, key.percent/100, worst[key].of).Hold(t)
	}
}

// worstKey is a component with its bar.
type worstKey struct {
	what    string
	percent float64
}

// worst is the largest error of some rows.
type worst struct {
	off float64
	of  int
}

// note takes a row into the worst; one that is not known is none.
func note(all map[worstKey]worst, key worstKey, got, want float64) {
	if want == 0 {
		return
	}
	w := all[key]
	all[key] = worst{max(w.off, math.Abs(got/want-1)), w.of + 1}
}

func within(t *testing.T, what string, got, want, percent float64) {
	t.Helper()
	if want == 0 {
		return
	}
	off := 100 * (got - want) / want
	t.Logf("%s: %.2f GiB, measured %.2f (%+.1f%%)", what, got, want, off)
	if math.Abs(off) > percent {
		t.Errorf("%s: %.2f GiB, measured %.2f: %+.1f%% is more than %.1f%%", what, got, want, off, percent)
	}
}

// oldContext is what releases of vLLM before 0.6 counted as their own beside what later ones count: all that was in use on
// the device, with the driver's context. Source: https://github.com/vllm-project/vllm/pull/2031.
const oldContext = contextBytes

// TestVLLMBlocks compares the cache of older logs, which give it in blocks of 16 tokens. They do not record the limits of
// a step; 256 sequences and the longest sequence were the defaults of their releases.
func TestVLLMBlocks(t *testing.T) {
	const blockTokens = 16
	logs := map[int64]struct {
		measured
		old int64
		// free is set where the release profiled in a way of its own and the cache is only reported.
		free bool
	}{
		27793: {measured{Model: "Llama-3-8B", Weights: v1alpha1.BF16, Product: "NVIDIA A100-SXM4-80GB", Visible: 79.15, Permille: 900, MaxModelLen: 8192, Tokens: 8192}, oldContext, false},
		// A Radeon Pro W7900 reports 45 of its 48 GiB.
		12003: {measured{Model: "Llama-3-8B", Weights: v1alpha1.BF16, Product: "AMD Radeon Pro W7900", Visible: 45, Permille: 900, MaxModelLen: 8192, Tokens: 8192}, oldContext, false},
		// A preview of the V1 engine, which computed the logits of every token of the profile run.
		1381: {measured{Model: "Llama-3.1-70B", Weights: v1alpha1.INT8, Product: "NVIDIA H100 80GB HBM3", Visible: 79.2, Permille: 980, MaxModelLen: 2048, Tokens: 8192, WeightsGiB: 67.7229}, 0, true},
	}
	for _, log := range truth(t).Logs {
		r, ok := logs[log.Blocks]
		if !ok {
			continue
		}
		delete(logs, log.Blocks)
		t.Run(r.Model+" on "+r.Product, func(t *testing.T) {
			r.Tensor, r.Sequences = 1, 256
			p := predict(t, &r.measured, mustFitted(t))
			got := p.cache - float64(r.old)/gib
			want := float64(log.Blocks*blockTokens*lookup(t, r.Model).KVBytesPerToken(v1alpha1.BF16)) / gib
			within(t, "weights", p.weights, r.WeightsGiB, 2)
			if r.free {
				t.Logf("cache: %.2f GiB, measured %.2f, without a bar", got, want)
				return
			}
			within(t, "cache", got, want, 10)
		})
	}
	if len(logs) > 0 {
		t.Errorf("%d logs are not in the file: it has other rows than expected", len(logs))
	}
}

func mustFitted(t *testing.T) constants {
	t.Helper()
	c, err := fitted()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// helixMachines are the machines of the block tables: the visible memory of a device in GiB, and how many there are.
var helixMachines = map[string]struct {
	product string
	visible float64
	devices int
}{
	"a100": {"NVIDIA A100-SXM4-40GB", 39.39, 1}, "l4": {"NVIDIA L4", 22.07, 1}, "t4": {"Tesla T4", 14.58, 1}, "t4x2": {"Tesla T4", 14.58, 2},
	"t4x4": {"Tesla T4", 14.58, 4}, "v100": {"Tesla V100-SXM2-16GB", 15.77, 1}, "l4x2": {"NVIDIA L4", 22.07, 2},
}

// TestHelixBlocks holds the cache of pipeline stages of some layers within 10 % of Helix' tables, none of which was fitted
// on: each machine ran the model with so many layers, with embedding and head, in the defaults of vLLM of early 2024.
func TestHelixBlocks(t *testing.T) { holdBlocks(t, "memory.json", truth(t).Blocks.Tables) }

// TestPublishedBlocks holds the same where no more than the repository is there.
func TestPublishedBlocks(t *testing.T) {
	var tables []blockTable
	for _, row := range facts.Table(t, "testdata/vllm_blocks.csv") {
		model, machine := row.Text("model"), row.Text("machine")
		if n := len(tables); n == 0 || tables[n-1].Model != model || tables[n-1].Machine != machine {
			tables = append(tables, blockTable{Model: model, Machine: machine, Block: row.Whole("block_bytes_per_layer"), Blocks: map[string]int64{}})
		}
		tables[len(tables)-1].Blocks[row.Text("layers")] = row.Whole("blocks")
	}
	holdBlocks(t, "published blocks", tables)
}

func holdBlocks(t *testing.T, subject string, tables []blockTable) {
	t.Helper()
	off, rows := 0.0, 0
	if len(tables) < 7 {
		t.Fatalf("%d tables: the file has another shape than expected", len(tables))
	}
	for _, table := range tables {
		t.Run(table.Model+" on "+table.Machine, func(t *testing.T) {
			machine, ok := helixMachines[table.Machine]
			if !ok {
				t.Skipf("machine %s is not known", table.Machine)
			}
			d := Device{Product: machine.product, VisibleBytes: int64(machine.visible * gib)}
			worst := 0.0
			for text, blocks := range table.Blocks {
				layers, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				f := helixFootprint(t, table, layers, machine.devices, d)
				want := float64(blocks*table.Block*int64(layers)) / float64(machine.devices)
				got := float64(f.Room(0, layers, d).Free - oldContext)
				if off := 100 * (got - want) / want; math.Abs(off) > math.Abs(worst) {
					worst = off
				}
			}
			t.Logf("%d rows, the worst %+.1f%%", len(table.Blocks), worst)
			off, rows = max(off, math.Abs(worst)), rows+len(table.Blocks)
			if math.Abs(worst) > 10 {
				t.Errorf("the cache is %+.1f%% off, which is more than 10%%", worst)
			}
		})
	}
	figure.Percent(subject, "blocks of vLLM's cache by layers on 7 machines, the worst", off/100, 0.10, rows).Hold(t)
}

func helixFootprint(t *testing.T, table blockTable, layers, devices int, d Device) *Footprint {
	t.Helper()
	m, length := lookup(t, "Llama-2-70B"), int64(4096)
	if table.Model == "llama1_30b" {
		m, length = lookup(t, "Llama-2-7B"), 2048
		a := &m.Architecture
		a.HiddenSize, a.Attention.Heads, a.Attention.KVHeads, a.MLP.IntermediateSize = 6656, 52, 52, 17920
	}
	m.Architecture.Layers = int32(layers) //nolint:gosec // a key of the table
	f, err := New(Setup{
		Model: m, Weights: v1alpha1.FP16, Layout: Layout{Tensor: devices},
		Inference: &Inference{MaxModelLen: length, BatchedTokens: length, BatchedSequences: 256},
	}, d)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
