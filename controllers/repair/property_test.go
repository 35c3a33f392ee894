package repair

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// cluster is what outlives an operator: inventories, the book, objects, and what others do.
type cluster struct {
	settings *Settings
	now      time.Time
	nodes    []string
	status   map[string]*v1alpha1.AcceleratorInventoryStatus
	ranked   map[string]map[v1alpha1.DeviceID]bool
	actor    map[string]string
	book     map[string]*Record
	objects  map[string]*object
}

type object struct {
	node   string
	device v1alpha1.DeviceID
	ended  bool
}

func newCluster(settings *Settings) *cluster {
	c := &cluster{
		settings: settings, now: start, nodes: []string{"n1", "n2", "n3"}, status: map[string]*v1alpha1.AcceleratorInventoryStatus{},
		ranked: map[string]map[v1alpha1.DeviceID]bool{}, actor: map[string]string{}, book: map[string]*Record{}, objects: map[string]*object{},
	}
	for _, node := range c.nodes {
		c.status[node] = sceneOf(v1alpha1.Healthy, nil, nil).Status
		c.ranked[node] = map[v1alpha1.DeviceID]bool{}
	}
	return c
}

// pass is one look of an operator at a node, which is killed before its step of a number.
func (c *cluster) pass(t *rapid.T, node string, lives int) {
	scene := &Scene{Node: node, Status: c.status[node].DeepCopy(), Ranked: c.ranked[node], Actor: c.actor[node], Record: c.book[node], Budget: c.settings.MaxConcurrent - len(c.book)}
	if scene.Record != nil {
		if o := c.objects[scene.Record.Object]; o != nil {
			scene.Object = Object{UID: "uid", Ended: o.ended}
		}
	}
	d := Decide(c.settings, scene, c.now)
	steps := []func(){
		func() {
			if d.Record != nil {
				c.book[node] = d.Record
			}
		},
		func() { c.status[node].Repairs = d.Repairs },
		func() {
			switch d.Step {
			case Make:
				c.make(t, node, d.Record)
			case Delete:
				delete(c.objects, d.Record.Object)
			}
		},
		func() {
			if d.Record == nil {
				delete(c.book, node)
			}
		},
	}
	for i, step := range steps {
		if i == lives {
			return
		}
		step()
		c.check(t)
	}
}

func (c *cluster) make(t *rapid.T, node string, r *Record) {
	if c.objects[r.Object] != nil {
		return
	}
	if c.actor[node] != "" {
		t.Fatalf("a repair of node %s on which %s works", node, c.actor[node])
	}
	if c.ranked[node][r.Device] || c.settings.Scope == ScopeNode && len(c.ranked[node]) > 0 {
		t.Fatalf("a repair of %s of node %s which has ranks: %v", r.Device, node, c.ranked[node])
	}
	if r.Attempt > c.settings.MaxAttempts {
		t.Fatalf("repair %d of %s", r.Attempt, r.Device)
	}
	c.objects[r.Object] = &object{node: node, device: r.Device}
}

// check fails where a promise is broken.
func (c *cluster) check(t *rapid.T) {
	running, byNode := 0, map[string]int{}
	for _, o := range c.objects {
		if !o.ended {
			running++
			byNode[o.node]++
		}
	}
	if running > c.settings.MaxConcurrent || len(c.book) > c.settings.MaxConcurrent {
		t.Fatalf("%d objects and %d records, at most %d", running, len(c.book), c.settings.MaxConcurrent)
	}
	for node, n := range byNode {
		if n > 1 {
			t.Fatalf("%d repairs of node %s", n, node)
		}
	}
	for node, status := range c.status {
		for _, r := range status.Repairs {
			evicts := r.State == v1alpha1.RepairVacated || r.State == v1alpha1.Repairing || r.State == v1alpha1.RepairFailed
			if evicts && c.ranked[node][r.Device] {
				t.Fatalf("device %s of node %s has ranks and is %s", r.Device, node, r.State)
			}
		}
		ids := map[v1alpha1.DeviceID]bool{}
		for _, r := range status.Repairs {
			if ids[r.Device] {
				t.Fatalf("two entries of %s", r.Device)
			}
			ids[r.Device] = true
		}
	}
}

// An operator that is killed at any step, while devices, ranks, others and repairs do what they like, keeps within its budget, repairs a node
// once at a time, nothing that has ranks or on which others work, and no device for ever; and comes to an end when all is well.
func TestRepairsKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settings := settingsOf(new(testing.T), fmt.Sprintf("%sscope: %s\nmaxConcurrent: %d\n", job,
			rapid.SampledFrom([]Scope{ScopeDevice, ScopeNode}).Draw(t, "scope"), rapid.IntRange(1, 2).Draw(t, "budget")))
		c := newCluster(settings)
		node := func() string { return rapid.SampledFrom(c.nodes).Draw(t, "node") }
		device := func() int { return rapid.IntRange(0, 1).Draw(t, "device") }
		// Most steps are the operator's, and it lives through most.
		operator := func(t *rapid.T) { c.pass(t, node(), min(rapid.IntRange(0, 8).Draw(t, "lives"), 4)) }
		actions := map[string]func(*rapid.T){
			"operator": operator, "operator again": operator, "operator once more": operator,
			"health": func(t *rapid.T) {
				since := at(c.now.Sub(start))
				c.status[node()].Devices[device()].Health = v1alpha1.DeviceHealth{
					Since: &since, Reason: "XID79",
					State: rapid.SampledFrom([]v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Unhealthy, v1alpha1.Unknown}).Draw(t, "health"),
				}
			},
			// The planner takes only what is well and not cordoned.
			"ranks come": func(*rapid.T) {
				status, ranked := c.status[node()], device()
				for name, s := range c.status {
					d := s.Devices[ranked]
					if s == status && d.Health.State == v1alpha1.Healthy && !slices.Contains(s.Withdrawn(), d.ID) {
						c.ranked[name][d.ID] = true
					}
				}
			},
			"ranks leave": func(*rapid.T) { clear(c.ranked[node()]) },
			"others":      func(t *rapid.T) { c.actor[node()] = rapid.SampledFrom([]string{"", "kured"}).Draw(t, "actor") },
			"time": func(t *rapid.T) {
				c.now = c.now.Add(time.Duration(rapid.IntRange(1, 3600).Draw(t, "seconds")) * time.Second)
			},
			"repair ends": func(t *rapid.T) {
				for _, o := range c.objects {
					o.ended = true
				}
			},
		}
		t.Repeat(actions)
		for _, status := range c.status {
			for i := range status.Devices {
				status.Devices[i].Health = v1alpha1.DeviceHealth{State: v1alpha1.Healthy}
			}
		}
		for range 20 {
			c.now = c.now.Add(memory)
			for _, o := range c.objects {
				o.ended = true
			}
			for _, n := range c.nodes {
				c.pass(t, n, 4)
			}
		}
		for n, status := range c.status {
			if len(status.Repairs) > 0 || c.book[n] != nil {
				t.Fatalf("all is well, and node %s has %+v and record %+v", n, status.Repairs, c.book[n])
			}
		}
	})
}
