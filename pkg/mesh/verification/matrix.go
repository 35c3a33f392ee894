package verification

import (
	"encoding/binary"
	"slices"

	"github.com/rankwright/rankwright/pkg/mesh/verification/traffic"
)

// row is what a pod knows of itself and its links.
type row struct {
	// ceiling is what the program itself moves within the pod in MB/s; 0 where that is not known.
	ceiling int64
	// troubled says that a group of the pod failed or gave wrong results.
	troubled bool
	links    []link
}

// matrix has the rows of all pods by place. Where the other pods cannot be asked it has only the pod's own row; the rest is nil.
type matrix []*row

// Messages between pods are numbers of traffic.WordBytes each.

func wordsOf(numbers []int64) []byte {
	words, _ := binary.Append(nil, binary.LittleEndian, numbers) // whole numbers can always be written
	return words
}

func numbersOf(words []byte) []int64 {
	numbers := make([]int64, len(words)/traffic.WordBytes)
	_, _ = binary.Decode(words, binary.LittleEndian, numbers) // there are as many words
	return numbers
}

// A row in numbers: head of them of the pod, then each of them for every link, and 0 for slots without one.
const head, each = 2, 2

func (r *row) numbers(slots int) []int64 {
	numbers := make([]int64, head+each*slots)
	numbers[0] = r.ceiling
	if r.troubled {
		numbers[1] = 1
	}
	for slot := range r.links {
		copy(numbers[head+each*slot:], []int64{int64(r.links[slot].state), r.links[slot].sent.MBps})
	}
	return numbers
}

// rowOf reads the numbers of a place with such pairs.
func rowOf(numbers []int64, place int, pairs []pair) *row {
	r := &row{ceiling: numbers[0], troubled: numbers[1] != 0}
	for slot, p := range pairs {
		of := numbers[head+each*slot:]
		r.links = append(r.links, link{place: p.other(place), state: linkState(of[0]), sent: rate{MBps: of[1]}})
	}
	return r
}

// slow are the slow links of a pod, which move less than their share of what is expected of them, with what is expected.
func (m matrix) slow(t *Task, place int) map[*link]int64 {
	if m[place] == nil || t.MinimumShare == 0 {
		return nil
	}
	medians := map[bool]int64{true: m.median(t, true), false: m.median(t, false)}
	slow := map[*link]int64{}
	for i := range m[place].links {
		l := &m[place].links[i]
		expected := max(m.planned(t, place, l.place), medians[t.together(place, l.place)])
		if measured(l) && l.sent.MBps*100 < expected*int64(t.MinimumShare) {
			slow[l] = expected
		}
	}
	return slow
}

func measured(l *link) bool {
	return l.state&linkMet != 0 && l.state&linkFailed == 0 && l.sent.MBps > 0
}

// together says whether two pods are on one node, so that no network is between them.
func (t *Task) together(a, b int) bool { return t.Pods[a].Node == t.Pods[b].Node }

// planned is what the plan assumes between two pods, but no more than what the program itself moves in either; 0 where
// that is not known.
func (m matrix) planned(t *Task, a, b int) int64 {
	if t.together(a, b) || t.Pods[a].MBps == 0 || t.Pods[b].MBps == 0 {
		return 0
	}
	expected := min(t.Pods[a].MBps, t.Pods[b].MBps)
	for _, place := range []int{a, b} {
		if m[place] != nil && m[place].ceiling > 0 {
			expected = min(expected, m[place].ceiling)
		}
	}
	return expected
}

// median takes the rates of the links within nodes, or of the links between them.
func (m matrix) median(t *Task, together bool) int64 {
	var rates []int64
	for place, r := range m {
		if r == nil {
			continue
		}
		for i := range r.links {
			if l := &r.links[i]; measured(l) && t.together(place, l.place) == together {
				rates = append(rates, l.sent.MBps)
			}
		}
	}
	return median(rates)
}

// median returns the median of rates; of fewer than three it returns 0, since their median says nothing.
func median(rates []int64) int64 {
	const fewest = 3
	if len(rates) < fewest {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// troubled says whether something is wrong with any pod that is known of.
func (m matrix) troubled(t *Task) bool {
	for place, r := range m {
		if r == nil {
			continue
		}
		if r.troubled || len(m.slow(t, place)) > 0 {
			return true
		}
		for i := range r.links {
			if r.links[i].state&(linkFailed|linkWrong) != 0 {
				return true
			}
		}
	}
	return false
}
