package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// even says why a split is not even.
func (c *Copy) even() error {
	for stage, layers := range c.Split {
		if layers != c.Split[0] {
			return fmt.Errorf("stage %d has %d layers and stage 0 has %d: it cuts stages of equal size alone", stage, layers, c.Split[0])
		}
	}
	return nil
}

// isDefault says why a split is not what the engine does when it is not told otherwise.
func (c *Copy) isDefault(engine v1alpha1.Engine) error {
	if mesh.IsDefaultSplit(engine, c.Split) {
		return nil
	}
	layers := 0
	for _, n := range c.Split {
		layers += n
	}
	usual := mesh.DefaultLayerSplit(engine, layers, len(c.Split))
	return fmt.Errorf("the plan has stages of %s layers, and %s cuts %s and cannot be told otherwise: plan for it", numbers(c.Split), engine, numbers(usual))
}

// equalMiddle says why the stages between the first and the last are not of equal size.
func (c *Copy) equalMiddle() error {
	for stage := 2; stage < len(c.Split)-1; stage++ {
		if c.Split[stage] != c.Split[1] {
			return fmt.Errorf("stage %d has %d layers and stage 1 has %d: only the first and the last stage may differ", stage, c.Split[stage], c.Split[1])
		}
	}
	return nil
}

// withoutContext refuses context parallelism.
func (c *Copy) withoutContext() error {
	if c.Strategy.Context > 1 {
		return fmt.Errorf("context is %d, which it does not have: plan with context 1", c.Strategy.Context)
	}
	return nil
}

// first is the first error of checks that are made in order.
func first(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}
