package shape

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
)

// weightsFormat is a format of weights to try.
type weightsFormat struct {
	Weights v1alpha1.Precision
	Native  bool
	Made    bool
}

// The ladders of automatic quantization, in falling width. In 16 bits BF16 is taken, and FP16 where the devices lack it.
// In 8 bits FP8 is taken where it is native, then INT8, which every device can expand, then FP8 that is expanded. In 4 bits NVFP4 is
// taken where it is native, and INT4 elsewhere.
var (
	ladder8 = []weightsFormat{
		{Weights: v1alpha1.FP8, Native: true}, {Weights: v1alpha1.INT8}, {Weights: v1alpha1.FP8}, {Weights: v1alpha1.NVFP4, Native: true}, {Weights: v1alpha1.INT4},
	}
	ladder16 = append([]weightsFormat{{Weights: v1alpha1.BF16}, {Weights: v1alpha1.FP16}}, ladder8...)
)

// ladderFor returns the formats to try, in order: those of the weights, and for each of them those of the cache. Lacking says that there
// are devices without BF16, which take caches in FP16 instead.
func ladderFor(spec *v1alpha1.ModelPlacementSpec, m *model.Model, e *engine.Engine, lacking bool) ([]Format, error) {
	asked := v1alpha1.Precision(spec.KVCacheType)
	if spec.KVCacheType == v1alpha1.KVCacheAuto {
		asked = ""
	}
	weights, err := weightsFor(spec, m, e)
	if err != nil {
		return nil, err
	}
	formats := make([]Format, 0, len(weights)+1)
	for _, w := range weights {
		cache := m.CacheFormat(w.Weights, asked)
		formats = append(formats, Format{w.Weights, w.Native, w.Made, cache})
		if lacking && asked == "" && cache == v1alpha1.BF16 && w.Weights != v1alpha1.BF16 && !w.Native {
			formats = append(formats, Format{w.Weights, false, w.Made, v1alpha1.FP16})
		}
		// A cache in 8 bits costs less quality than weights in fewer bits. Like weights in FP8, it needs a device that
		// computes FP8.
		if asked == "" && w.Weights == v1alpha1.FP8 && (w.Native || len(weights) == 1) && cache != v1alpha1.FP8 && spec.Workload.Inference != nil {
			formats = append(formats, Format{w.Weights, true, w.Made, v1alpha1.FP8})
		}
	}
	return formats, nil
}

// weightsFor returns the formats of weights to try, in order. A checkpoint that is published in less than 16 bits starts at
// its own width, since more would add bytes and no quality. Training keeps 16 bits where its method does
// not say otherwise. Serving takes a format that is not asked for only where a checkpoint in it is known or the engine makes it.
func weightsFor(spec *v1alpha1.ModelPlacementSpec, m *model.Model, e *engine.Engine) ([]weightsFormat, error) {
	var method v1alpha1.TrainingMethod
	if t := spec.Workload.Training; t != nil {
		method = t.Method
	}
	base := memory.BaseFormats(method)
	if q := spec.Quantization; q != "" && q != v1alpha1.QuantizationAuto {
		format := v1alpha1.Precision(q)
		if format == v1alpha1.FP4 || !slices.Contains(fleet.Formats[:], format) {
			return nil, invalid("quantization", string(q), "use Auto, FP32, FP16, BF16, FP8, INT8, INT4, MXFP4 or NVFP4")
		}
		if len(base) > 0 && !slices.Contains(base, format) {
			return nil, invalid("quantization", string(q), fmt.Sprintf("with method %s use one of %v, Auto, or another method", method, base))
		}
		return []weightsFormat{{Weights: format}}, nil
	}
	switch {
	case len(base) > 0:
		return []weightsFormat{{Weights: base[0]}}, nil
	case spec.Workload.Training != nil:
		return ladder16[:2], nil
	}
	switch m.Native {
	case v1alpha1.FP8:
		return loadable(ladder8, m, e), nil
	case v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4:
		return []weightsFormat{{Weights: m.Native}}, nil
	default:
		return loadable(ladder16, m, e), nil
	}
}

// loadable returns those of some formats that the engine can load.
func loadable(ladder []weightsFormat, m *model.Model, e *engine.Engine) []weightsFormat {
	list := make([]weightsFormat, 0, len(ladder))
	for _, w := range ladder {
		from := supplyOf(e, m, w.Weights)
		if w.Made = from == Made; from != Brought {
			list = append(list, w)
		}
	}
	return list
}
