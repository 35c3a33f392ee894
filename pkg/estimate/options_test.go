package estimate

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// TestModulesAreAsFastAsPublished: with 85 to 90 % of the second tokens accepted, DeepSeek-V3 writes 1.8 times as many tokens a second as
// without its module. Source: arXiv 2412.19437, section 5.4.3. The estimate adds what verification and the module take.
func TestModulesAreAsFastAsPublished(t *testing.T) {
	engine, err := FindEngine("sglang")
	if err != nil {
		t.Fatal(err)
	}
	pace := func(o *v1alpha1.ServingOptions) float64 {
		got, err := Serve(Serving{
			Deployment: Deployment{Model: must(findModel("DeepSeek-V3")), Product: productOf(t, "NVIDIA H200"), Engine: engine, Degrees: Degrees{Tensor: 8}},
			Load:       Load{Input: 1000, Output: 1000, Concurrency: 1}, Options: o,
		})
		if err != nil || !got.Fits {
			t.Fatalf("%v, %+v", err, got)
		}
		return *got.TPOTMillis
	}
	plain := pace(nil)
	for accepted, least := range map[int32]float64{85: 1.6, 90: 1.65} {
		got := plain / pace(&v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: v1alpha1.SpeculationMTP, Tokens: 1, AcceptancePercent: accepted}})
		if got < least || got > 1+float64(accepted)/100 {
			t.Errorf("%d %% accepted: %.2f times as many tokens, published are 1.8 times", accepted, got)
		}
	}
}

// TestImagesArePrompts: images take longer than as many tokens of text, by what their encoder takes, and are told of where there is none.
func TestImagesArePrompts(t *testing.T) {
	engine, err := FindEngine("vllm")
	if err != nil {
		t.Fatal(err)
	}
	serve := func(name string, input int64, o *v1alpha1.ServingOptions) (*Answer, error) {
		return Serve(Serving{
			Deployment: Deployment{Model: must(findModel(name)), Product: productOf(t, "NVIDIA H100 80GB HBM3"), Engine: engine},
			Load:       Load{Input: input, Output: 100, Concurrency: 1}, Options: o,
		})
	}
	images := &v1alpha1.ServingOptions{Media: &v1alpha1.Media{Images: 2, ImageTokens: 1000}}
	text, err := serve("Qwen2.5-VL-7B", 2500, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := serve("Qwen2.5-VL-7B", 500, images)
	if err != nil {
		t.Fatal(err)
	}
	// 8000 patches go through 0.68 billion weights: 1.1e13 operations, which take an H100 11 ms at its peak and may take twice that.
	if longer := *seen.TTFTMillis - *text.TTFTMillis; longer < 11 || longer > 40 {
		t.Errorf("images take %.1f ms longer than text", longer)
	}
	if seen.Memory.Cache != text.Memory.Cache || seen.Memory.Activations <= text.Memory.Activations {
		t.Errorf("images take %+v, text %+v", seen.Memory, text.Memory)
	}
	if _, err := serve("Llama-3.1-8B", 500, images); err == nil {
		t.Error("a model without an encoder reads images")
	}
}

func productOf(t *testing.T, name string) accelerator.Product {
	t.Helper()
	p, ok := accelerator.Lookup(accelerator.Key{Product: name})
	if !ok {
		t.Fatalf("no product %s", name)
	}
	return p
}
