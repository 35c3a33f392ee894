package cost

import "fmt"

// Reach is how far a strategy goes along each dimension in which it can leave what was measured: degrees from 1, and 1 for each link and
// the like that it uses. That of a family is the furthest of all that was measured of it.
type Reach [dimensions]int

const (
	ofTensor = iota
	ofStages
	ofData
	ofExperts
	ofDecode
	ofIslands
	ofContext
	overLink
	overHost
	overNetwork
	betweenHosts
	onUnequal

	dimensions = iota
)

// dimensionNames are the dimensions in the order of Reach: degrees, then links.
var dimensionNames = [dimensions]string{
	"tensor", "pipeline", "attention data", "expert", "decode context", "islands", "context", "link", "host link", "network", "stages over the network", "stages on unequal devices",
}

// linkWords say what is meant by the links.
var linkWords = [dimensions]string{
	overLink: "ranks that share layers over the devices' own link", overHost: "ranks that share layers over the host's PCIe",
	overNetwork: "ranks that share layers over the network", betweenHosts: "stages that hand on over the network", onUnequal: "stages on unequal devices",
}

// covers says whether a strategy goes no further along any dimension.
func (r *Reach) covers(need *Reach) bool { return r.missing(need) < 0 }

// missing returns the first dimension along which a strategy goes further; -1 where none does.
func (r *Reach) missing(need *Reach) int {
	for i, n := range need {
		if n > r[i] {
			return i
		}
	}
	return -1
}

// describe names the first dimension along which a strategy goes further, and what was measured.
func (r *Reach) describe(need *Reach) string {
	switch i := r.missing(need); {
	case i < 0:
		return ""
	case i >= overLink:
		return linkWords[i]
	case r[i] <= 1:
		return fmt.Sprintf("a degree of %d (%s)", need[i], dimensionNames[i])
	default:
		return fmt.Sprintf("a degree of %d (%s; %d at most)", need[i], dimensionNames[i], r[i])
	}
}

// join extends a reach to another one.
func (r *Reach) join(other *Reach) {
	for i, n := range other {
		r[i] = max(r[i], n)
	}
}

// reach returns how far the query goes.
func (q *Query) reach() Reach {
	r := q.Strategy.reach(q.Device)
	if q.Profile.experts.count == 0 {
		r[ofExperts] = 1
	}
	switch {
	case len(q.Stages) > 0:
		r[ofStages], r[onUnequal] = len(q.Stages), 1
		for i := range q.Stages {
			r[betweenHosts] |= flag(q.Stages[i].Transfer > 0)
		}
	case q.Cut != nil:
		r[ofStages] = len(q.Cut.ends)
	}
	r[betweenHosts] |= flag(q.Transfer > 0)
	return r
}

// reach returns how far the job goes. Its measurements are of many hosts, so that their network is no dimension.
func (t *Training) reach() Reach {
	r := t.Strategy.reach(t.Device)
	r[ofContext] = max(1, t.Context)
	return r
}

// reach returns how far a strategy goes on a device; nil where stages have devices of their own.
func (s *Strategy) reach(d *Device) Reach {
	r := Reach{
		ofTensor: max(1, s.Tensor), ofStages: max(1, s.Pipeline), ofData: max(1, s.AttentionData), ofExperts: max(1, s.Expert),
		ofDecode: max(1, s.DecodeContext), ofIslands: max(1, s.Islands), ofContext: 1,
	}
	if d != nil && r[ofTensor]*r[ofData] > 1 {
		r[d.carrier()] = 1
	}
	return r
}

// carrier returns what ranks of a stage exchange data over.
func (d *Device) carrier() int {
	switch {
	case !d.HostLink:
		return overLink
	case d.Network > 0 && d.Link == d.Network:
		return overNetwork
	default:
		return overHost
	}
}

func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}
