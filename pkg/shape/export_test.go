package shape

import "github.com/rankwright/rankwright/pkg/fleet"

// MostFigures is the number of figures that an index keeps at most when a plan begins.
const MostFigures = mostFigures

// Held returns how many figures an index keeps.
func Held(c *fleet.Cluster) int64 { return cacheOf(c).held.Load() }
