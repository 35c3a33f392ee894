package plan

// Forget makes an index forget the figures of shapes.
func (c *Cluster) Forget() { c.memo = &memo{} }
