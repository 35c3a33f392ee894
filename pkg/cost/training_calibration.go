package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// trainingJSON is written by `make fit`.
//
//go:embed training.json
var trainingJSON []byte

// TrainingCalibration is the constants of training. The logarithm of a constant is a base plus what the architecture adds: engines
// differ in what they are told, which the job says, and not in constants.
type TrainingCalibration struct {
	Base          TrainingLogarithms            `json:"base"`
	Architectures map[string]TrainingLogarithms `json:"architectures"`
	// Families are what was measured, and how far.
	Families []TrainedFamily `json:"families"`
	// Spreads are how far measurements are from estimates, as a factor less 1, at the bases from SameFamily on.
	Spreads [bases - int(SameFamily) + 1]float64 `json:"spreads"`
}

// TrainingLogarithms are natural logarithms of constants, or what is added to them, in the order of the constants.
type TrainingLogarithms [trainingConstants]float64

// TrainedFamily is a family that was measured, with the furthest that was.
type TrainedFamily struct {
	Family
	Reach Reach `json:"reach"`
}

// Constants returns the constants of an architecture; one that was not measured adds nothing to the base. No more is hidden than there is.
func (c *TrainingCalibration) Constants(architecture string) TrainingConstants {
	offsets := c.Architectures[architecture]
	var values TrainingConstants
	for i, v := range c.Base {
		values[i] = math.Exp(v + offsets[i])
	}
	values[Overlap] = min(1, values[Overlap])
	return values
}

// Basis returns what an estimate of a job of a family rests on.
func (c *TrainingCalibration) Basis(f Family, t *Training) Basis {
	need, near := t.reach(), Roofline
	var anywhere Reach
	for i := range c.Families {
		of := &c.Families[i]
		anywhere.join(&of.Reach)
		switch {
		case of.Family == f && of.Reach.covers(&need):
			near = SameFamily
		case of.Architecture == f.Architecture || of.Engine == f.Engine:
			near = min(near, Related)
		}
	}
	if !anywhere.covers(&need) {
		return Roofline
	}
	return near
}

// beyond names the first degree of a job that lies outside what was measured of its family, or of all where nothing of it was.
func (c *TrainingCalibration) beyond(f Family, t *Training) string {
	need := t.reach()
	var reach Reach
	for i := range c.Families {
		if c.Families[i].Family == f {
			return c.Families[i].Reach.describe(&need)
		}
		reach.join(&c.Families[i].Reach)
	}
	return reach.describe(&need)
}

// Spread returns how far measurements are from estimates at a basis.
func (c *TrainingCalibration) Spread(b Basis) float64 {
	return c.Spreads[max(b, SameFamily)-SameFamily]
}

// trainingFile is the data with the names of the constants and dimensions, so that data with others is refused.
type trainingFile struct {
	Constants  []string `json:"constants"`
	Dimensions []string `json:"dimensions"`
	TrainingCalibration
}

// parseTraining reads a calibration. The error names the part that does not match.
func parseTraining(data []byte) (*TrainingCalibration, error) {
	var f trainingFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("calibration of training: %w", err)
	}
	if !slices.Equal(f.Constants, trainingNames[:]) || !slices.Equal(f.Dimensions, dimensionNames[:]) {
		return nil, fmt.Errorf("calibration of training: constants are %q and dimensions %q: fit again, this version has %q and %q", f.Constants, f.Dimensions, trainingNames, dimensionNames)
	}
	return &f.TrainingCalibration, nil
}

// FormatTraining writes a calibration as it is read.
func FormatTraining(c *TrainingCalibration) ([]byte, error) {
	data, err := json.MarshalIndent(trainingFile{trainingNames[:], dimensionNames[:], *c}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("calibration of training: %w", err)
	}
	return data, nil
}
