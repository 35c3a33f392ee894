package shape

import (
	"cmp"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/test/plantest"
)

func TestLadders(t *testing.T) {
	const made16 = "BF16/BF16 FP16/FP16 FP8*+/BF16 FP8*+/FP8 FP8+/BF16"
	training := func(method v1alpha1.TrainingMethod) v1alpha1.Workload {
		return v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: method}}
	}
	for name, test := range map[string]struct {
		model   *model.Model
		engine  v1alpha1.Engine
		asked   v1alpha1.Quantization
		work    v1alpha1.Workload
		lacking bool // there are devices without BF16
		// want has a * for formats that must be native, and a + for those that the engine makes
		want string
	}{
		"16-bit checkpoint":                {model: stored(v1alpha1.BF16), asked: v1alpha1.QuantizationAuto, work: plantest.Serving, want: made16},
		"nothing asked":                    {model: stored(v1alpha1.BF16), work: plantest.Serving, want: made16},
		"an engine that makes none":        {model: stored(v1alpha1.BF16), engine: v1alpha1.EngineTensorRTLLM, work: plantest.Serving, want: "BF16/BF16 FP16/FP16"},
		"published in FP8, NVFP4 and INT4": {model: catalogued(t, "Qwen/Qwen3-32B"), engine: v1alpha1.EngineTensorRTLLM, work: plantest.Serving, want: "BF16/BF16 FP16/FP16 FP8*/BF16 FP8*/FP8 FP8/BF16 NVFP4*/FP8 INT4/BF16"},
		"published, made by none":          {model: catalogued(t, "Qwen/Qwen3-32B"), work: plantest.Serving, want: "BF16/BF16 FP16/FP16 FP8*/BF16 FP8*/FP8 FP8/BF16 NVFP4*/FP8 INT4/BF16"},
		"published, pinned":                {model: catalogued(t, "Qwen/Qwen3-32B").Pinned(), work: plantest.Serving, want: made16},
		"FP8 checkpoint":                   {model: stored(v1alpha1.FP8), asked: v1alpha1.QuantizationAuto, work: plantest.Serving, want: "FP8*/BF16 FP8*/FP8 FP8/BF16"},
		"MXFP4 checkpoint":                 {model: stored(v1alpha1.MXFP4), asked: v1alpha1.QuantizationAuto, work: plantest.Serving, want: "MXFP4/BF16"},
		"asked":                            {model: stored(v1alpha1.FP8), asked: "BF16", work: plantest.Serving, want: "BF16/BF16"},
		"asked, of no checkpoint":          {model: stored(v1alpha1.BF16), asked: "INT4", work: plantest.Serving, want: "INT4/BF16"},
		"asked in FP8":                     {model: stored(v1alpha1.BF16), asked: "FP8", work: plantest.Serving, want: "FP8/BF16 FP8*/FP8"},
		"training":                         {model: stored(v1alpha1.FP8), asked: v1alpha1.QuantizationAuto, work: training("Full"), want: "BF16/BF16 FP16/FP16"},
		"training by QLoRA":                {model: stored(v1alpha1.BF16), asked: v1alpha1.QuantizationAuto, work: training("QLoRA"), want: "INT4/BF16"},
		"training as asked":                {model: stored(v1alpha1.BF16), asked: "FP32", work: training("Full"), want: "FP32/BF16"},
		"4-bit by another":                 {model: stored(v1alpha1.NVFP4), work: plantest.Serving, want: "NVFP4/BF16"},
		"checkpoint in INT8":               {model: stored(v1alpha1.INT8), work: plantest.Serving, want: "INT8/BF16"},
		"32-bit checkpoint":                {model: stored(v1alpha1.FP32), work: plantest.Serving, want: made16},
		"not known, as usual":              {model: stored(""), work: plantest.Serving, want: made16},
		"with devices without BF16":        {model: catalogued(t, "Qwen/Qwen3-32B-FP8"), work: plantest.Serving, lacking: true, want: "FP8*/BF16 FP8*/FP8 FP8/BF16 FP8/FP16 NVFP4*/FP8 INT4/BF16 INT4/FP16"},
	} {
		e, err := engine.Find(cmp.Or(test.engine, v1alpha1.EngineVLLM))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ladderFor(&v1alpha1.ModelPlacementSpec{Quantization: test.asked, Workload: test.work}, test.model, e, test.lacking)
		if text := ladderText(got); err != nil || text != test.want {
			t.Errorf("%s: got %s, %v, want %s", name, text, err, test.want)
		}
	}
}

// stored is a model of which one checkpoint is known.
func stored(native v1alpha1.Precision) *model.Model { return &model.Model{Native: native} }

func catalogued(t *testing.T, name string) *model.Model {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ladderText(ladder []Format) string {
	var texts []string
	for _, s := range ladder {
		text := string(s.Weights)
		if s.Native {
			text += "*"
		}
		if s.Made {
			text += "+"
		}
		texts = append(texts, text+"/"+string(s.Cache))
	}
	return strings.Join(texts, " ")
}

func TestCacheIsAsAsked(t *testing.T) {
	for asked, want := range map[v1alpha1.KVCacheType]string{
		"":                   "FP16/FP16",
		v1alpha1.KVCacheAuto: "FP16/FP16",
		"BF16":               "FP16/BF16",
		"FP8":                "FP16/FP8",
	} {
		spec := &v1alpha1.ModelPlacementSpec{Quantization: "FP16", KVCacheType: asked, Workload: plantest.Serving}
		e, err := engine.Find(v1alpha1.EngineVLLM)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ladderFor(spec, stored(v1alpha1.BF16), e, false); err != nil || ladderText(got) != want {
			t.Errorf("%q: got %v, %v, want %s", asked, got, err, want)
		}
	}
}
