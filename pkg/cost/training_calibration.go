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

// TrainedFamily is a family that was measured, with the furthest that was, and what jobs were told beside degrees.
type TrainedFamily struct {
	Family
	Reach   Reach           `json:"reach"`
	Options TrainingOptions `json:"options"`
}

func (f *TrainedFamily) join(reach *Reach, options *TrainingOptions) {
	f.Reach.join(reach)
	f.Options = f.Options.Or(*options)
}

// Join extends what was measured to a job.
func (f *TrainedFamily) Join(t *Training) {
	reach, options := t.reach(), t.Options()
	f.join(&reach, &options)
}

// covers says whether a job goes no further than what was measured.
func (f *TrainedFamily) covers(t *Training) bool {
	need, told := t.reach(), t.Options()
	return f.Reach.covers(&need) && f.Options.missing(&told) < 0
}

// describe says how a job goes further than what was measured; empty where it does not.
func (f *TrainedFamily) describe(t *Training) string {
	need, told := t.reach(), t.Options()
	if text := f.Reach.describe(&need); text != "" {
		return text
	}
	if i := f.Options.missing(&told); i >= 0 {
		return optionNames[i]
	}
	return ""
}

// anywhere is what was measured of all families.
func (c *TrainingCalibration) anywhere() TrainedFamily {
	var all TrainedFamily
	for i := range c.Families {
		all.join(&c.Families[i].Reach, &c.Families[i].Options)
	}
	return all
}

// Constants returns the constants of an architecture; one that was not measured adds nothing to the base.
func (c *TrainingCalibration) Constants(architecture string) TrainingConstants {
	offsets := c.Architectures[architecture]
	var values TrainingConstants
	for i, v := range c.Base {
		values[i] = math.Exp(v + offsets[i])
	}
	return values.Bounded()
}

// Basis returns what an estimate of a job of a family rests on.
func (c *TrainingCalibration) Basis(f Family, t *Training) Basis {
	near := Roofline
	for i := range c.Families {
		of := &c.Families[i]
		switch {
		case of.Family == f && of.covers(t):
			near = SameFamily
		case of.Architecture == f.Architecture || of.Engine == f.Engine:
			near = min(near, Related)
		}
	}
	if all := c.anywhere(); !all.covers(t) {
		return Roofline
	}
	return near
}

// beyond names the first degree or option of a job that lies outside what was measured of its family, or of all where nothing of it was.
func (c *TrainingCalibration) beyond(f Family, t *Training) string {
	for i := range c.Families {
		if c.Families[i].Family == f {
			return c.Families[i].describe(t)
		}
	}
	all := c.anywhere()
	return all.describe(t)
}

// Spread returns how far measurements are from estimates at a basis.
func (c *TrainingCalibration) Spread(b Basis) float64 {
	return c.Spreads[max(b, SameFamily)-SameFamily]
}

// trainingFile is the data with the names of the constants and dimensions, so that data with others is refused.
type trainingFile struct {
	Constants  []string `json:"constants"`
	Dimensions []string `json:"dimensions"`
	Options    []string `json:"options"`
	TrainingCalibration
}

// parseTraining reads a calibration. The error names the part that does not match.
func parseTraining(data []byte) (*TrainingCalibration, error) {
	var f trainingFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("calibration of training: %w", err)
	}
	if !slices.Equal(f.Constants, trainingNames[:]) || !slices.Equal(f.Dimensions, dimensionNames[:]) || !slices.Equal(f.Options, optionNames[:]) {
		return nil, fmt.Errorf("calibration of training: constants are %q, dimensions %q and options %q: fit again, this version has %q, %q and %q", f.Constants, f.Dimensions, f.Options,
			trainingNames, dimensionNames, optionNames)
	}
	return &f.TrainingCalibration, nil
}

// FormatTraining writes a calibration as it is read.
func FormatTraining(c *TrainingCalibration) ([]byte, error) {
	data, err := json.MarshalIndent(trainingFile{trainingNames[:], dimensionNames[:], optionNames[:], *c}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("calibration of training: %w", err)
	}
	return data, nil
}
