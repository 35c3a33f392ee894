package estimate

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/price"
)

// Prices: GB were compared with GiB, 2 % of room were enough, a T4 was recommended for BF16, several instances were never
// considered, and a row with an MI300X under an A100's instance name and price won for 405B.
func TestDefectPricesOfTheWrongShape(t *testing.T) {
	table, err := price.Load()
	if err != nil {
		t.Fatal(err)
	}
	products := map[string]string{}
	for _, shape := range table.Shapes() {
		if other, known := products[shape.Instance]; known && other != shape.Product {
			t.Errorf("%s has %s and %s", shape.Instance, other, shape.Product)
		}
		products[shape.Instance] = shape.Product
		if _, ok := accelerator.Lookup(accelerator.Key{Product: shape.Product}); !ok {
			t.Errorf("%s is said to have %q, which the catalogue does not know", shape.Instance, shape.Product)
		}
		if !strings.HasPrefix(shape.Source, "https://") || shape.Date == "" {
			t.Errorf("%s has no source or date", shape.Instance)
		}
	}
	for _, test := range []struct{ model, weights string }{{"Llama-3.1-405B", "FP8"}, {"Llama-3.1-70B", "BF16"}, {"Llama-3.1-8B", "BF16"}} {
		r := renting(t, test.model, func(r *Renting) { r.Weights = must(FindPrecision(test.weights)) })
		got, err := Cheapest(r, table)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Offers) == 0 {
			t.Errorf("%s: nothing is offered", test.model)
		}
		for _, o := range got.Offers {
			// What an engine may use is in bytes of what the driver reports, with room for cache and activations.
			if !o.Answer.Fits || *o.Answer.OutputTokensPerSecond <= 0 {
				t.Errorf("%s on %s: %+v", test.model, o.Instance, o.Answer)
			}
			if test.weights == "BF16" && o.Product == "Tesla T4" {
				t.Errorf("%s in BF16 on %s, which lacks it", test.model, o.Instance)
			}
		}
	}
}
