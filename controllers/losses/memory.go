package losses

import (
	"strconv"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Annotations of a plan that keep a Memory.
const (
	annotationCount = v1alpha1.Prefix + "incidents"
	annotationLast  = v1alpha1.Prefix + "last-incident"
)

// After a plan that answered a loss the next one waits for leastPause, which doubles with each such plan up to mostPause. A placement that
// needed none for quiet begins anew.
const (
	leastPause = time.Minute
	mostPause  = 30 * time.Minute
	quiet      = time.Hour
)

// Memory is how many plans of a placement answered losses, one after the other, and when the last did. It is written with the plan, so that
// an operator that ends forgets nothing.
type Memory struct {
	Count int
	Last  time.Time
}

// Remember reads the memory that came with a plan; what cannot be read counts as none.
func Remember(plan *v1alpha1.ShardingPlan) Memory {
	if plan == nil {
		return Memory{}
	}
	count, err := strconv.Atoi(plan.Annotations[annotationCount])
	last, unread := time.Parse(time.RFC3339, plan.Annotations[annotationLast])
	if err != nil || unread != nil || count < 1 {
		return Memory{}
	}
	return Memory{count, last}
}

// Write adds the memory to a new plan.
func (m Memory) Write(plan *v1alpha1.ShardingPlan) {
	if m.Count == 0 {
		return
	}
	if plan.Annotations == nil {
		plan.Annotations = map[string]string{}
	}
	plan.Annotations[annotationCount] = strconv.Itoa(m.Count)
	plan.Annotations[annotationLast] = m.Last.UTC().Format(time.RFC3339)
}

// Next is the memory with one more plan that answers losses.
func (m Memory) Next(now time.Time) Memory {
	if now.Sub(m.Last) > quiet {
		m.Count = 0
	}
	return Memory{m.Count + 1, now}
}

// Until is when the next plan may answer losses.
func (m Memory) Until() time.Time {
	if m.Count == 0 {
		return time.Time{}
	}
	const most = 5 // 1 min << 5 is above mostPause
	return m.Last.Add(min(leastPause<<min(m.Count-1, most), mostPause))
}
