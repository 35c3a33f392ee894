package why

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

// quotaCause is that the namespace may have no more devices. What would change it is the smallest placement of the namespace that holds as many
// devices as are missing, else a smaller plan; a user cannot raise the quota.
func quotaCause() cause[*standing] {
	row := refused("QuotaExceeded", "The namespace may have no more devices", nil, "QuotaExceeded")
	row.commands = func(c *Case, s *standing) []string {
		var left, missing int
		if short := s.Status.Shortfall; short != nil {
			left, missing = int(short.FreeDevices), int(short.NeededDevices-short.FreeDevices)
		}
		var commands []string
		if p := c.giver(s, missing); p != nil {
			commands = append(commands, suspend(p.Namespace, p.Name)+fmt.Sprintf(" # gives %s back", words.Counted(p.Totals.Devices, "device")))
		}
		return append(commands,
			s.edit()+fmt.Sprintf(" # at most %s: spec.replicas, spec.parallelism", words.Counted(left, "device")),
			"kubectl rankwright top placements -n "+s.Namespace+" # what the namespace has; operator.tenants of the chart says what it may have")
	}
	return row
}

// giver is the smallest other placement of a placement's namespace that holds so many devices; nil where there is none.
func (c *Case) giver(s *standing, devices int) *holding.Placement {
	var found *holding.Placement
	for i := range c.fleetOf().Placements {
		p := &c.held.Placements[i]
		if p.Namespace == s.Namespace && p.Name != s.Name && p.Totals.Devices >= max(devices, 1) && (found == nil || p.Totals.Devices < found.Totals.Devices) {
			found = p
		}
	}
	return found
}
