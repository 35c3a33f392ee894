// Package truth reads the published measurements that the model of costs is calibrated on and held to.
package truth

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
)

// Quantity is what was measured.
type Quantity int

// The quantities.
const (
	Throughput   Quantity = iota // output tokens per second of an instance
	TPOT                         // seconds
	TTFT                         // seconds
	TrainingRate                 // operations per second and device
)

// String names the quantity.
func (q Quantity) String() string {
	return [...]string{Throughput: "throughput", TPOT: "TPOT", TTFT: "TTFT", TrainingRate: "training rate"}[q]
}

// Observation is a measured number with the query that estimates it.
type Observation struct {
	Table   string
	Model   string
	GPU     string
	Cell    string // what was run, without repetitions; cells are held out whole
	Group   string // cells of one choice: the same model, devices and load
	Devices int
	// Weights and Cache are the precisions of a run that served; Cache is what is usual for the weights where the table does not say.
	Weights, Cache v1alpha1.Precision
	Quantity       Quantity
	Query          cost.Query
	Limit          float64 // seconds per output token that requests arriving at random must get; 0 where they are offered at once
	Training       *cost.Training
	Untold         bool // a job of which the source does not say all
	Reported       bool // too far from what is known of the run to fit it or to hold it to anything
	Family         cost.Family
	Measured       float64
}

// Held says whether a cell is held out of the fit: half of them are, by a hash of the group, so that a choice is held
// out as a whole.
func (o *Observation) Held() bool {
	h := fnv.New32a()
	h.Write([]byte(o.Table + o.Group))
	return h.Sum32()>>7&1 == 1
}

// By is what an estimator gives for an observation of serving.
func (o *Observation) By(e *cost.Estimator) float64 {
	q := e.Corrected(&o.Query)
	return o.estimate(&q, e.Constants())
}

// Trained is what the constants of training give for an observation of training.
func (o *Observation) Trained(c *cost.TrainingConstants) float64 {
	return o.Training.Operations() / (o.Training.Step(c) * float64(o.Devices))
}

// Estimate is what the constants alone give for an observation of serving.
func (o *Observation) Estimate(c *cost.Constants) float64 { return o.estimate(&o.Query, c) }

func (o *Observation) estimate(q *cost.Query, c *cost.Constants) float64 {
	if o.Limit > 0 {
		return cost.ServeUnder(q, c, o.Limit).OutputTokensPerSecond
	}
	t := cost.Serve(q, c)
	switch o.Quantity {
	case TPOT:
		return t.TPOT
	case TTFT:
		return t.TTFT
	default:
		return t.OutputTokensPerSecond
	}
}

// device finds a product by the words of a table.
func device(name string) (*cost.Device, accelerator.Product, error) {
	for _, p := range products {
		if !strings.Contains(name, p.words) {
			continue
		}
		for _, product := range accelerator.Products() {
			if product.Name == p.product {
				d := cost.NewDevice(&product)
				return &d, product, nil
			}
		}
	}
	return nil, accelerator.Product{}, fmt.Errorf("device %q: add it to the table of products", name)
}

// products are the catalogue's names of the tables' devices. The first whose words a name has is taken.
var products = []struct{ words, product string }{
	{"GH200 480GB", "NVIDIA GH200 480GB"},
	{"H200-NVL", "NVIDIA H200 NVL"},
	{"H200 141GB", "NVIDIA H200"},
	{"H200 SXM", "NVIDIA H200"},
	{"H200-SXM", "NVIDIA H200"},
	{"h200_sxm", "NVIDIA H200"},
	{"H100 80GB", "NVIDIA H100 80GB HBM3"},
	{"H100 SXM", "NVIDIA H100 80GB HBM3"},
	{"H100-SXM", "NVIDIA H100 80GB HBM3"},
	{"h100_sxm", "NVIDIA H100 80GB HBM3"},
	{"A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"},
	{"h100_80gb", "NVIDIA H100 80GB HBM3"},
	{"a100_80gb", "NVIDIA A100-SXM4-80GB"},
	{"a100_40gb", "NVIDIA A100-SXM4-40GB"},
	{"L40S", "NVIDIA L40S"},
	{"GB200", "NVIDIA GB200"},
	{"GB300", "NVIDIA GB300"},
	{"B200 180GB", "NVIDIA B200"},
	{"B200-SXM", "NVIDIA B200"},
	{"b200_sxm", "NVIDIA B200"},
	{"b300_sxm", "NVIDIA B300 SXM6 AC"},
	{"RTX PRO 6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
}
