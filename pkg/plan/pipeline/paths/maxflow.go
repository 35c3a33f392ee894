package paths

import "math"

// flowGraph is a directed graph whose maximum flow is found by Dinic's algorithm (E. A. Dinic, 1970): it ends after at
// most one phase a vertex whatever the capacities are, so floating point capacities need no tolerance.
type flowGraph struct {
	head        []int32 // first arc of each vertex, -1 for none
	next, to    []int32
	capacity    []float64 // what is left; arc i^1 is the reverse of arc i
	level, turn []int32
	queue       []int32
}

func (g *flowGraph) reset(vertices int) {
	g.head = resized(g.head, vertices)
	g.level = resized(g.level, vertices)
	g.turn = resized(g.turn, vertices)
	for i := range g.head {
		g.head[i] = -1
	}
	g.next, g.to, g.capacity = g.next[:0], g.to[:0], g.capacity[:0]
}

func resized(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n)
	}
	return s[:n]
}

// connect adds an arc and returns its number.
func (g *flowGraph) connect(from, to int, capacity float64) int {
	arc := len(g.to)
	g.to = append(g.to, int32(to), int32(from))
	g.capacity = append(g.capacity, capacity, 0)
	g.next = append(g.next, g.head[from], g.head[to])
	g.head[from], g.head[to] = int32(arc), int32(arc+1)
	return arc
}

// flow returns what runs through an arc after maximum.
func (g *flowGraph) flow(arc int) float64 { return g.capacity[arc^1] }

// maximum returns the most that flows from vertex 0 to the sink. No path may be without a finite arc.
func (g *flowGraph) maximum(sink int) float64 {
	total := 0.0
	for g.label(int32(sink)) {
		copy(g.turn, g.head)
		for {
			pushed := g.push(0, int32(sink), math.Inf(1))
			if pushed == 0 {
				break
			}
			total += pushed
		}
	}
	return total
}

// label numbers the vertices by their distance from vertex 0 in arcs that have capacity left.
func (g *flowGraph) label(sink int32) bool {
	for i := range g.level {
		g.level[i] = -1
	}
	g.level[0] = 0
	g.queue = append(g.queue[:0], 0)
	for at := 0; at < len(g.queue); at++ {
		v := g.queue[at]
		for arc := g.head[v]; arc >= 0; arc = g.next[arc] {
			if w := g.to[arc]; g.capacity[arc] > 0 && g.level[w] < 0 {
				g.level[w] = g.level[v] + 1
				g.queue = append(g.queue, w)
			}
		}
	}
	return g.level[sink] >= 0
}

func (g *flowGraph) push(v, sink int32, limit float64) float64 {
	if v == sink {
		return limit
	}
	for ; g.turn[v] >= 0; g.turn[v] = g.next[g.turn[v]] {
		arc := g.turn[v]
		w := g.to[arc]
		if g.capacity[arc] <= 0 || g.level[w] != g.level[v]+1 {
			continue
		}
		if pushed := g.push(w, sink, min(limit, g.capacity[arc])); pushed > 0 {
			g.capacity[arc] -= pushed
			g.capacity[arc^1] += pushed
			return pushed
		}
	}
	return 0
}
