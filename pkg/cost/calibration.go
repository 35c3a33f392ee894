package cost

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// constantsJSON is written by `make fit`.
//
//go:embed constants.json
var constantsJSON []byte

// Load returns the calibration that is built in. It can only fail where the embedded data is wrong, which a test excludes.
var Load = sync.OnceValues(func() (*Calibration, error) {
	c, err := parse(constantsJSON)
	if err != nil {
		return nil, err
	}
	cells, err := parseCells(cellsJSON)
	if err != nil {
		return nil, err
	}
	c = c.With(cells)
	if c.training, err = parseTraining(trainingJSON); err != nil {
		return nil, err
	}
	return c, nil
})

// Calibration is the constants of all families. The logarithm of a constant is a base plus what the architecture, the
// engine, the class and the combination of all three add, so that families that were not measured have constants too.
type Calibration struct {
	Base          Logarithms            `json:"base"`
	Architectures map[string]Logarithms `json:"architectures"`
	Engines       map[Engine]Logarithms `json:"engines"`
	Classes       map[Class]Logarithms  `json:"classes"`
	Families      []Measured            `json:"families"`
	// Unmeasured are the spreads of families that were not measured, at the bases that those can have.
	Unmeasured Widths `json:"unmeasured"`

	cells    *Cells
	training *TrainingCalibration
	site     *Site
}

var (
	noCells    Cells
	noTraining TrainingCalibration
)

// Training returns the constants of training.
func (c *Calibration) Training() *TrainingCalibration { return cmp.Or(c.training, &noTraining) }

// With returns the calibration with what its constants were fitted to.
func (c *Calibration) With(cells *Cells) *Calibration {
	with := *c
	with.cells = cells
	return &with
}

// Logarithms are natural logarithms of constants, or what is added to them, in the order of the constants.
type Logarithms [constants]float64

// Measured is a family that was measured.
type Measured struct {
	Family
	Offsets Logarithms `json:"offsets"`
	Widths  Widths     `json:"widths"`
}

// Regime is how much an instance has to do; errors of estimates depend on it.
type Regime int

// The regimes. The load is heavy where more than 32 requests run at a time in an attention-data-parallel group, or where
// requests wait for running ones.
const (
	Light Regime = iota
	Heavy

	regimes int = iota
)

// Spreads holds the spread of errors in each regime.
type Spreads [regimes]Spread

// Spread is how far measurements are from estimates, as a factor less 1: 0.2 says that they lie between the estimate over
// 1.2 and 1.2 times the estimate. It is the 87th percentile of the errors of cells that are estimated with constants that
// were fitted without all that is nearer to them than the basis says.
type Spread struct {
	TTFT       float64 `json:"ttft"`
	TPOT       float64 `json:"tpot"`
	Throughput float64 `json:"throughput"`
}

// file is the data with the names of the constants, so that data with other constants is refused.
type file struct {
	Constants []string `json:"constants"`
	Calibration
}

// parse reads a calibration. The error names the part that does not match.
func parse(data []byte) (*Calibration, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if !slices.Equal(f.Constants, names[:]) {
		return nil, fmt.Errorf("calibration: constants are %q: fit them again, this version has %q", f.Constants, names)
	}
	return &f.Calibration, nil
}

// Format writes a calibration as Parse reads it.
func Format(c *Calibration) ([]byte, error) {
	data, err := json.Marshal(file{Constants: names[:], Calibration: *c})
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	return data, nil
}
