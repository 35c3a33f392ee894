package pipeline

import (
	"errors"
	"fmt"
	"math"
)

// Chain is one pipeline that is to be divided into stages.
type Chain struct {
	// Layers is how many layers there are.
	Layers int
	// Devices is how many devices, or tensor groups that act as one, there are of each class.
	Devices []int
	// Seconds is how long a stage takes for one step, by class and layers [start, end). +Inf says that the class does not
	// hold them. It is called once for each class and run, and need not grow with the run.
	Seconds func(class, start, end int) float64
	// Handover is how long a stage of the second class takes to receive from one of the first, which counts as its own
	// time; without it handing over is free.
	Handover [][]float64
	// MaxStages bounds the stages where it is positive.
	MaxStages int
}

// Stage is one stage of a pipeline: the layers [Start, End) on a device of a class.
type Stage struct {
	Class, Start, End int
	// Seconds is the time of a step, receiving it included.
	Seconds float64
}

// Division is a pipeline that Split found.
type Division struct {
	Stages []Stage
	// Slowest is the time of the slowest stage in seconds, so 1/Slowest is the steps a second of a full pipeline.
	Slowest float64
	// Total is the time of one step through all stages in seconds.
	Total float64
}

var (
	// ErrInvalid is wrapped by each error that says which value of the input cannot be right.
	ErrInvalid = errors.New("invalid pipeline problem")
	// ErrNoFit says that no division gives each stage a device that holds it.
	ErrNoFit = errors.New("no division of the layers fits the devices")
	// ErrTooLarge says that a chain has more states than maxStates.
	ErrTooLarge = errors.New("too many ways to use the devices: merge classes or offer fewer devices")
)

// maxStates bounds the states of a division: layers times last classes times the product of (devices + 1) of each class.
// A state takes 12 bytes.
const maxStates = 1 << 22

// Split divides a chain so that the slowest stage is as fast as possible; of those that are equal to within rounding, one
// with the fewest stages and of these one with the least total time. Not every device need be used.
//
// It returns ErrNoFit, ErrTooLarge, or an error that wraps ErrInvalid and names the field.
func Split(c Chain) (*Division, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s, err := newSplitter(&c)
	if err != nil {
		return nil, err
	}
	limit := s.slowest() * (1 + tolerance)
	if math.IsInf(limit, 1) {
		return nil, ErrNoFit
	}
	stages := s.fewest(limit)
	s.fill(totalTime, limit)
	d := &Division{Stages: s.trace(s.leastOf(stages))}
	for _, stage := range d.Stages {
		d.Slowest = max(d.Slowest, stage.Seconds)
		d.Total += stage.Seconds
	}
	return d, nil
}

func (c *Chain) validate() error {
	switch {
	case c.Layers < 1 || c.Layers > maxLayers:
		return invalid("layers is %d: give between 1 and %d", c.Layers, maxLayers)
	case len(c.Devices) == 0 || len(c.Devices) > maxClasses:
		return invalid("there are %d classes of devices: give between 1 and %d", len(c.Devices), maxClasses)
	case c.Seconds == nil:
		return invalid("seconds is missing: give the time of a stage by class and layers")
	case c.Handover != nil && len(c.Handover) != len(c.Devices):
		return invalid("handover has %d rows: give one for each of %d classes", len(c.Handover), len(c.Devices))
	}
	for i, n := range c.Devices {
		if n < 0 {
			return invalid("devices[%d] is %d: give zero or more", i, n)
		}
	}
	for i, row := range c.Handover {
		if len(row) != len(c.Devices) {
			return invalid("handover[%d] has %d entries: give one for each of %d classes", i, len(row), len(c.Devices))
		}
		for j, seconds := range row {
			if !validSeconds(seconds) {
				return invalid("handover[%d][%d] is %v: give 0 to %v seconds, +Inf for no link", i, j, seconds, maxSeconds)
			}
		}
	}
	return nil
}

const (
	maxLayers  = 1 << 12
	maxClasses = 1 << 6
	maxSeconds = 1e12 // sums stay finite

	// tolerance is the relative error that the sum of the times of a few thousand stages may have.
	tolerance = 1e-12
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// validSeconds says whether a time is valid: not negative and at most maxSeconds, or +Inf.
func validSeconds(s float64) bool { return (s >= 0 && s <= maxSeconds) || math.IsInf(s, 1) }
