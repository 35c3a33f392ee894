package accelerator

import "fmt"

// addComputeUnits gives products their numbers of compute units, a record each.
func (c *catalogue) addComputeUnits(text string) error {
	err := eachRecord(text, func(column func(string) string) error {
		rows := c.named(column("product"))
		if len(rows) == 0 {
			return fmt.Errorf("product %q: no row of products.csv has this name", column("product"))
		}
		p := numbers{column: column}
		units := p.scaled("compute_units", 1)
		switch {
		case p.err != nil:
			return p.err
		case units < 1 || column("source") == "":
			return fmt.Errorf("product %q: give a number of compute units and its source", column("product"))
		case rows[0].row.ComputeUnits != 0:
			return fmt.Errorf("product %q: is there twice", column("product"))
		}
		rows[0].row.ComputeUnits = int32(units)
		return nil
	})
	if err != nil {
		return fmt.Errorf("compute_units.csv: %w", err)
	}
	return nil
}
