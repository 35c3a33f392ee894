package price

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/pkg/accelerator"
)

// Bounds of what a row may say.
const (
	maxDevices  = 1 << 16
	maxUSD      = 1_000_000
	maxAmount   = 1 << 24
	microPerUSD = 1_000_000
)

// row is a shape as the data writes it.
type row struct {
	Shape
	USDPerHour json.Number `json:"usdPerHour"`
}

// Parse reads a table from JSON or YAML: a list `shapes` of rows with provider, instance, region, product, devices,
// usdPerHour, source and date, and where they are known vcpus, memoryGiB and
// networkGbps, with specification where another source says them. The error names the row, the field, its value and what to write.
func Parse(data []byte) (*Table, error) {
	var file struct {
		Shapes []row `json:"shapes"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	if len(file.Shapes) == 0 {
		return nil, errors.New("prices: shapes: empty: list at least one instance")
	}
	t := &Table{shapes: make([]Shape, len(file.Shapes))}
	for i := range file.Shapes {
		s, err := file.Shapes[i].shape()
		if err != nil {
			return nil, fmt.Errorf("prices: shapes[%d].%w", i, err)
		}
		t.shapes[i] = s
	}
	slices.SortFunc(t.shapes, order)
	for i := 1; i < len(t.shapes); i++ {
		if a := &t.shapes[i]; order(t.shapes[i-1], *a) == 0 {
			return nil, fmt.Errorf("prices: %s %s in %s is in the table twice: keep one row", a.Provider, a.Instance, a.Region)
		}
	}
	t.index()
	return t, nil
}

func order(a, b Shape) int {
	return cmp.Or(
		cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Product, b.Product), cmp.Compare(a.Devices, b.Devices),
		cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Region, b.Region),
	)
}

func (r *row) shape() (Shape, error) {
	for _, f := range [...]struct{ name, value string }{
		{"provider", r.Provider}, {"instance", r.Instance}, {"region", r.Region}, {"source", r.Source},
	} {
		if strings.TrimSpace(f.value) == "" {
			return Shape{}, fmt.Errorf("%s: empty: name it", f.name)
		}
	}
	product, err := accelerator.Find(r.Product)
	if err != nil {
		return Shape{}, fmt.Errorf("product: %w", err)
	}
	if r.Devices < 1 || r.Devices > maxDevices {
		return Shape{}, fmt.Errorf("devices: %d: set it to a number from 1 to %d", r.Devices, maxDevices)
	}
	for _, f := range [...]struct {
		name  string
		value float64
	}{{"vcpus", float64(r.VCPUs)}, {"memoryGiB", r.MemoryGiB}, {"networkGbps", r.NetworkGbps}} {
		if !(f.value >= 0 && f.value <= maxAmount) { // the negated form refuses NaN too
			return Shape{}, fmt.Errorf("%s: %g: set it to a number from 0 to %d, or leave it out", f.name, f.value, maxAmount)
		}
	}
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		return Shape{}, fmt.Errorf("date: %q: write it as YYYY-MM-DD", r.Date)
	}
	usd, err := r.USDPerHour.Float64()
	// The negated form refuses NaN too.
	if err != nil || !(usd > 0 && usd <= maxUSD) {
		return Shape{}, fmt.Errorf("usdPerHour: %q: set it to a number above 0 and up to %d", r.USDPerHour, maxUSD)
	}
	s := r.Shape
	s.Product, s.MicroUSDPerHour = product.Name, max(1, int64(math.Round(usd*microPerUSD)))
	return s, nil
}
