package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rankwright/rankwright/internal/words"
)

// Room says how many pods of one placement a node has room for, by what each of them asks for and what the node has free: what it
// can give to pods, less what the pods there ask for that are not the placement's. Pods that the scheduler would preempt count as any.
// Nil is room everywhere.
type Room struct {
	asks Amounts
	// pods are the numbers for nodes that have room for fewer pods than they have devices, free what those without any have.
	pods map[string]int32
	free map[string]Amounts
	// nodes is the number of nodes that were looked at.
	nodes int
}

// Room returns the room of the nodes for pods of a placement ("namespace/name"), of which each asks for so much; nil where they ask for
// nothing. A node that does not say what it can give has room.
func (s *Snapshot) Room(placement string, asks Amounts, u *Usage) *Room {
	if len(asks) == 0 {
		return nil
	}
	r := &Room{asks: asks, pods: map[string]int32{}, free: map[string]Amounts{}}
	each := asks.plus(onePod)
	for name, h := range s.hosts {
		if !h.plannable() || len(h.Allocatable) == 0 {
			continue
		}
		r.nodes++
		free := u.free(h, placement, each)
		if n := each.times(free); int(n) < len(h.Inventory.Status.Devices) {
			r.pods[name] = n
			if n == 0 {
				r.free[name] = free
			}
		}
	}
	return r
}

// For returns how many pods a node has room for; math.MaxInt32 stands for as many as it has devices, or more.
func (r *Room) For(node string) int32 {
	if r != nil {
		if n, short := r.pods[node]; short {
			return n
		}
	}
	return math.MaxInt32
}

// Short says whether some node has less room than devices.
func (r *Room) Short() bool { return r != nil && len(r.pods) > 0 }

// Digest is equal for rooms that give the same answers; empty where every node has room.
func (r *Room) Digest() string {
	if !r.Short() {
		return ""
	}
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, r.asks, r.Text())
	for _, node := range slices.Sorted(maps.Keys(r.pods)) {
		_, _ = fmt.Fprintln(sum, node, r.pods[node])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Text says which nodes have no room and what would help; empty where all have some.
func (r *Room) Text() string {
	if r == nil || len(r.free) == 0 {
		return ""
	}
	nearest, share := "", math.Inf(-1)
	each := r.asks.plus(onePod)
	for _, node := range slices.Sorted(maps.Keys(r.free)) {
		if at := each.share(r.free[node]); at > share {
			nearest, share = node, at
		}
	}
	of := r.asks
	if r.asks.times(r.free[nearest]) > 0 {
		of = onePod
	}
	return fmt.Sprintf("%d of %s have not the %s that each pod asks for (nearest: %s with %s free): move other pods away, ask for less in the pods' requests, or add nodes.",
		len(r.free), words.Counted(r.nodes, "node"), r.asks.text(r.asks), nearest, r.free[nearest].text(of))
}
