package plan

import "github.com/rankwright/rankwright/pkg/fleet"

// Forget makes an index forget the figures of shapes.
func Forget(c *fleet.Cluster) { *memoOf(c) = memo{} }
