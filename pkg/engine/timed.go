package engine

// Releases are versions of an engine, from one on and until another one, which is not among them.
type Releases struct{ From, Until string }

// TimedIn says whether times of a version were measured: it is among the releases of the row. An empty one counts as the version that the
// row was compared with.
func (e *Engine) TimedIn(version string) bool {
	if version == "" || len(e.Timed) == 0 {
		return true
	}
	for _, r := range e.Timed {
		if !older(version, r.From) && older(version, r.Until) {
			return true
		}
	}
	return false
}
