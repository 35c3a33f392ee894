package estimate

import (
	"math"
	"testing"

	bars "github.com/rankwright/rankwright/test/figure"
)

// TestGPTOSSElsewhere holds GPT-OSS-120B, which no fitted table has with vLLM, to figures that were published elsewhere: they lie in the printed
// ranges, and no estimate is off by more than 30 %. Sources: https://github.com/SemiAnalysisAI/InferenceX/issues/828 (1024 tokens in and out,
// TP8 on H100), https://github.com/SemiAnalysisAI/InferenceX/pull/1061 (one MI300X), both with lengths drawn from 80 to 100 % of what they name, and
// https://www.millstoneai.com/inference-benchmark/gpt-oss-120b-mxfp4 (849 tokens/s of 10 requests on one H200).
func TestGPTOSSElsewhere(t *testing.T) {
	most, count := 0.0, 0
	const drawn = 922 // the mean of lengths from 80 to 100 % of 1024
	for _, test := range []struct {
		product       string
		tensor        int
		concurrency   int64
		input, output int64
		milli         float64
	}{
		{"H100", 8, 4, drawn, drawn, 3.72},
		{"H100", 8, 8, drawn, drawn, 4.05},
		{"H100", 8, 16, drawn, drawn, 4.83},
		{"H100", 8, 32, drawn, drawn, 5.82},
		{"H100", 8, 64, drawn, drawn, 7.36},
		{"MI300X", 1, 64, drawn, drawn, 31.4},
		{"H200", 1, 10, 1000, 1024, 10 / 0.849},
	} {
		d := deployed(t, "GPT-OSS-120B", test.product, "vLLM", "MXFP4")
		d.Degrees = Degrees{Tensor: test.tensor}
		got, err := Serve(Serving{Deployment: d, Load: Load{Input: test.input, Output: test.output, Concurrency: test.concurrency}})
		if err != nil {
			t.Fatal(err)
		}
		estimated, of := *got.TPOTMillis, got.Ranges.TPOTMillis
		t.Logf("%d × %s, %d requests: %.1f ms (%.1f to %.1f), %.2f published: %+.0f %%", test.tensor, test.product, test.concurrency, estimated, of.Low, of.High, test.milli, 100*(estimated/test.milli-1))
		most, count = max(most, math.Abs(estimated/test.milli-1)), count+1
		if test.milli < of.Low || test.milli > of.High {
			t.Errorf("%d × %s, %d requests: %.1f ms (%.1f to %.1f), %.2f were published", test.tensor, test.product, test.concurrency, estimated, of.Low, of.High, test.milli)
		}
	}
	bars.Percent("GPT-OSS-120B with vLLM, published elsewhere", "TPOT, largest error", most, 0.30, count).Hold(t)
}
