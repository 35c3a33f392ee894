package shape

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/test/plantest"
)

func TestLadders(t *testing.T) {
	training := func(method v1alpha1.TrainingMethod) v1alpha1.Workload {
		return v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: method}}
	}
	for name, test := range map[string]struct {
		native  v1alpha1.Precision
		asked   v1alpha1.Quantization
		work    v1alpha1.Workload
		want    string
		lacking bool // there are devices without BF16
	}{
		"16-bit checkpoint":   {v1alpha1.BF16, v1alpha1.QuantizationAuto, plantest.Serving, "[{BF16 false BF16} {FP16 false FP16} {FP8 true BF16} {FP8 true FP8} {INT8 false BF16} {NVFP4 true BF16} {INT4 false BF16}]", false},
		"nothing asked":       {v1alpha1.BF16, "", plantest.Serving, "[{BF16 false BF16} {FP16 false FP16} {FP8 true BF16} {FP8 true FP8} {INT8 false BF16} {NVFP4 true BF16} {INT4 false BF16}]", false},
		"FP8 checkpoint":      {v1alpha1.FP8, v1alpha1.QuantizationAuto, plantest.Serving, "[{FP8 true BF16} {FP8 true FP8} {INT8 false BF16} {NVFP4 true BF16} {INT4 false BF16}]", false},
		"MXFP4 checkpoint":    {v1alpha1.MXFP4, v1alpha1.QuantizationAuto, plantest.Serving, "[{MXFP4 false BF16}]", false},
		"asked":               {v1alpha1.FP8, "BF16", plantest.Serving, "[{BF16 false BF16}]", false},
		"training":            {v1alpha1.FP8, v1alpha1.QuantizationAuto, training("Full"), "[{BF16 false BF16} {FP16 false FP16}]", false},
		"training by QLoRA":   {v1alpha1.BF16, v1alpha1.QuantizationAuto, training("QLoRA"), "[{INT4 false BF16}]", false},
		"training as asked":   {v1alpha1.BF16, "FP32", training("Full"), "[{FP32 false BF16}]", false},
		"4-bit by another":    {v1alpha1.NVFP4, "", plantest.Serving, "[{NVFP4 false BF16}]", false},
		"checkpoint in INT8":  {v1alpha1.INT8, "", plantest.Serving, "[{INT8 false BF16}]", false},
		"32-bit checkpoint":   {v1alpha1.FP32, "", plantest.Serving, "[{BF16 false BF16} {FP16 false FP16} {FP8 true BF16} {FP8 true FP8} {INT8 false BF16} {NVFP4 true BF16} {INT4 false BF16}]", false},
		"not known, as usual": {"", "", plantest.Serving, "[{BF16 false BF16} {FP16 false FP16} {FP8 true BF16} {FP8 true FP8} {INT8 false BF16} {NVFP4 true BF16} {INT4 false BF16}]", false},
		"with devices without BF16": {
			v1alpha1.FP8, v1alpha1.QuantizationAuto, plantest.Serving,
			"[{FP8 true BF16} {FP8 true FP8} {INT8 false BF16} {INT8 false FP16} {NVFP4 true BF16} {INT4 false BF16} {INT4 false FP16}]", true,
		},
	} {
		got, err := ladderFor(&v1alpha1.ModelPlacementSpec{Quantization: test.asked, Workload: test.work}, &model.Model{Native: test.native}, test.lacking)
		if err != nil || fmt.Sprint(got) != test.want {
			t.Errorf("%s: got %v, %v, want %s", name, got, err, test.want)
		}
	}
}

func TestCacheIsAsAsked(t *testing.T) {
	for asked, want := range map[v1alpha1.KVCacheType]string{
		"":                   "[{FP16 false FP16}]",
		v1alpha1.KVCacheAuto: "[{FP16 false FP16}]",
		"BF16":               "[{FP16 false BF16}]",
		"FP8":                "[{FP16 false FP8}]",
	} {
		spec := &v1alpha1.ModelPlacementSpec{Quantization: "FP16", KVCacheType: asked, Workload: plantest.Serving}
		if got, err := ladderFor(spec, &model.Model{Native: v1alpha1.BF16}, false); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: got %v, %v, want %s", asked, got, err, want)
		}
	}
}
