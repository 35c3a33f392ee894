package memory

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

// anySetup draws a setup that New takes.
func anySetup(t *rapid.T) Setup {
	m, err := model.Lookup(rapid.SampledFrom(model.Names()).Draw(t, "model"))
	if err != nil {
		t.Fatal(err)
	}
	degree := func(name string) int { return 1 << rapid.IntRange(0, 3).Draw(t, name) }
	s := Setup{
		Model: m, Engine: v1alpha1.Engine(rapid.SampledFrom(engine.Names()).Draw(t, "engine")), Weights: rapid.SampledFrom(Stored).Draw(t, "weights"),
		Layout: Layout{Tensor: degree("tensor"), AttentionData: degree("attentionData"), Context: degree("context")},
		Inference: &Inference{
			MaxModelLen: rapid.Int64Range(1, 1<<17).Draw(t, "length"), Sequences: rapid.Int64Range(1, 512).Draw(t, "sequences"),
		},
	}
	if rapid.Bool().Draw(t, "optional") {
		anyOptions(t, &s)
	}
	s.Layout.Expert = 1 << rapid.IntRange(0, 3).Draw(t, "expert")
	if s.Layout.Tensor*s.Layout.AttentionData%s.Layout.Expert != 0 {
		s.Layout.Expert = 1
	}
	return s
}

// anyOptions draws what a server does beside.
func anyOptions(t *rapid.T, s *Setup) {
	in := s.Inference
	in.Shared = rapid.Int64Range(0, in.MaxModelLen/3).Draw(t, "shared")
	in.AdapterSlots, in.AdapterRank = rapid.Int64Range(0, 8).Draw(t, "adapters"), 16
	in.Drafted, in.MediaTokens = rapid.Int64Range(0, 4).Draw(t, "drafted"), rapid.Int64Range(0, 4096).Draw(t, "media")
	if in.Drafted > 0 {
		d, err := s.Model.Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationEAGLE})
		if err != nil {
			t.Fatal(err)
		}
		s.Draft = d
	}
}

func mustNew(t *rapid.T, s Setup) *Footprint {
	f, err := New(s, h200)
	if err != nil {
		t.Fatalf("%+v: %v", s.Layout, err)
	}
	return f
}

// Stages together hold what one device holds and, where the embeddings are tied, the table once more.
func TestStagesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := mustNew(t, anySetup(t))
		one := whole(f)
		if one.Cache >= maxBytes {
			return // amounts end there, and their parts add up to more
		}
		cut := rapid.IntRange(1, max(1, f.Layers()-1)).Draw(t, "cut")
		if cut >= f.Layers() {
			return
		}
		a, b := f.Use(0, cut), f.Use(cut, f.Layers())
		want := one.Weights
		if f.setup.Model.Architecture.TiedEmbeddings {
			want += f.head
		}
		if a.Weights+b.Weights != want || bounded(a.Cache+b.Cache) != one.Cache {
			t.Fatalf("%+v and %+v do not add up to %+v", a, b, one)
		}
		if a.Activations > one.Activations || b.Activations > one.Activations {
			t.Fatalf("a stage needs more activations (%+v, %+v) than all of them (%+v)", a, b, one)
		}
	})
}

// What is asked more takes no less, and what is shared among more takes no more.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySetup(t)
		base := whole(mustNew(t, s))
		longer, wider := s, s
		in := *s.Inference
		in.MaxModelLen, in.Sequences = 2*in.MaxModelLen, in.Sequences+1
		longer.Inference = &in
		if u := whole(mustNew(t, longer)); u.Cache < base.Cache || u.Total() < base.Total() {
			t.Fatalf("longer and more sequences take %+v, less than %+v", u, base)
		}
		wider.Layout.Tensor *= 2
		// An embedding table is rounded up to 64 rows on each rank, and MXFP4 experts to 64 columns.
		slack := int64(2*64*s.Model.Architecture.HiddenSize) * 4
		if u := whole(mustNew(t, wider)); s.Weights != v1alpha1.MXFP4 && u.Weights > base.Weights+slack || u.Cache > base.Cache {
			t.Fatalf("twice the tensor ranks take %+v each, more than %+v", u, base)
		}
	})
}

// The text of a plan never differs from its numbers.
func TestExplanationsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySetup(t)
		if rapid.Bool().Draw(t, "as they run") {
			s.Inference.Mean, s.Inference.Deviation = 1+s.Inference.MaxModelLen/2, s.Inference.MaxModelLen/5
		}
		f := mustNew(t, s)
		first := rapid.IntRange(0, f.Layers()-1).Draw(t, "first")
		end := rapid.IntRange(first+1, f.Layers()).Draw(t, "end")
		var sum int64
		for _, line := range f.Explain(first, end) {
			sum += line.Bytes
			if got, err := evaluate(line.Formula); err != nil || got < float64(line.Bytes)-1024 || got > float64(line.Bytes)*(1+1e-9)+1024 {
				t.Fatalf("%q comes to %v, not to %d (%v)", line.Formula, got, line.Bytes, err)
			}
		}
		if total := f.Use(first, end).Total(); sum != total {
			t.Fatalf("the lines add up to %d, not to %d", sum, total)
		}
	})
}

// FuzzNew: any numbers give an answer or an error that says what to set, and never a negative amount.
func FuzzNew(f *testing.F) {
	f.Add(8, 1, 1, 8, 1, int64(4096), int64(1), int64(0), int64(0), int64(900), int64(80<<30), int64(0), uint8(0))
	f.Add(-1, 0, 1<<30, 3, 2, int64(1)<<62, int64(-5), int64(1)<<40, int64(7), int64(5000), int64(-1), int64(1)<<62, uint8(9))
	names := model.Names()
	f.Fuzz(func(t *testing.T, tensor, pipeline, data, expert, context int, length, sequences, tokens, batch, permille, total, others int64, pick uint8) {
		m, err := model.Lookup(names[int(pick)%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		d := Device{Vendor: "nvidia", TotalBytes: total, OthersBytes: others}
		s := Setup{
			Model: m, Engine: v1alpha1.Engine(engine.Names()[int(pick)%len(engine.Names())]), Weights: Stored[int(pick)%len(Stored)],
			Layout:    Layout{Tensor: tensor, Pipeline: pipeline, AttentionData: data, Expert: expert, DecodeContext: context},
			Inference: &Inference{MaxModelLen: length, Sequences: sequences, BatchedTokens: tokens, BatchedSequences: batch, Utilization: permille},
		}
		got, err := New(s, d)
		if err != nil {
			if !strings.Contains(err.Error(), ":") {
				t.Fatalf("%q says no remedy", err)
			}
			return
		}
		u := whole(got)
		for _, bytes := range []int64{u.Weights, u.Cache, u.Activations, u.Engine, u.Communication, u.Total()} {
			if bytes < 0 {
				t.Fatalf("%+v has a negative amount", u)
			}
		}
		if d.Check() == nil {
			if room := got.Room(0, got.Layers(), d); room.Fits() && u.Cache > room.Free {
				t.Fatalf("%+v fits %+v", u, room)
			}
		}
	})
}
