package placement

import "time"

// patience says which placements that were refused before a round passes over although something may be better since. That is as if it had been
// decided when they were refused, as long as no plan uses a node that became better since. The zero value passes over all that may be.
type patience struct {
	// passed has the epochs of the refusals that were passed over, and asking is how long was asked again about others.
	passed map[int64]bool
	asking time.Duration
	// ended has the epochs of refusals that are looked at again; tries counts how often it was found that there are such.
	ended map[int64]bool
	tries int
}

const (
	// mostAsking is how long a round asks again about placements whose turn it is. Those that are left have a later one, so that a new
	// placement does not wait for all of them.
	mostAsking = 50 * time.Millisecond
	// mostTries is how often a round is decided anew for some refusals before it is for all of them.
	mostTries = 2
)

// begin begins to decide, once more or for the first time.
func (p *patience) begin() { p.passed, p.asking = map[int64]bool{}, 0 }

// passes says whether a placement is passed over. turn says that it is its turn and not only its chance.
func (p *patience) passes(turn bool, stands standing, epoch int64) bool {
	over := !turn && stands == rested || turn && stands == fallen && p.asking > mostAsking
	switch {
	case !turn && stands == exact:
		return true
	case !over || p.tries > mostTries || p.ended[epoch]:
		return false
	}
	p.passed[epoch] = true
	return true
}

// asked notes how long it took to ask about a placement whose turn it was.
func (p *patience) asked(stands standing, took time.Duration) {
	if stands != unknown {
		p.asking += took
	}
}

// ends says whether a plan would use nodes that may have become better since a refusal that was passed over. Those refusals are not from then on.
func (p *patience) ends(now interface{ BetterSince(int64, []string) bool }, nodes []string) bool {
	found := false
	for epoch := range p.passed {
		if now.BetterSince(epoch, nodes) {
			if p.ended == nil {
				p.ended = map[int64]bool{}
			}
			p.ended[epoch], found = true, true
		}
	}
	if found {
		p.tries++
	}
	return found
}
