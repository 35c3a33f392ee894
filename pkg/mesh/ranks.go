package mesh

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// Ranks are ranks of a copy in ascending order, as runs with a step: 0-7, 0-9992/8 or 0-3,8-11. So the groups of ten thousand
// ranks fit into a file.
type Ranks string

// RanksOf returns the runs of ranks, which must ascend.
func RanksOf[R int | int32](ranks []R) Ranks {
	var text []byte
	for at := 0; at < len(ranks); {
		if at > 0 {
			text = append(text, ',')
		}
		last := runEnd(ranks, at)
		text = strconv.AppendInt(text, int64(ranks[at]), 10)
		if last > at {
			text = strconv.AppendInt(append(text, '-'), int64(ranks[last]), 10)
			if step := ranks[at+1] - ranks[at]; step != 1 {
				text = strconv.AppendInt(append(text, '/'), int64(step), 10)
			}
		}
		at = last + 1
	}
	return Ranks(text)
}

// runEnd is the last place of the run that begins at a place. Two ranks alone are no run unless they follow one another,
// since the second may begin a longer one.
func runEnd[R int | int32](ranks []R, at int) int {
	last := at
	for last+1 < len(ranks) && ranks[last+1]-ranks[last] == ranks[at+1]-ranks[at] {
		last++
	}
	if last == at+1 && ranks[last]-ranks[at] != 1 {
		return at
	}
	return last
}

// List reads the runs. It refuses ranks that do not ascend and more of them than a number, before it makes them: a few
// characters can stand for a million.
func (r Ranks) List(most int) ([]int32, error) {
	var ranks []int32
	for run := range strings.SplitSeq(string(r), ",") {
		first, last, step, err := parseRun(run)
		if err != nil {
			return nil, err
		}
		if len(ranks) > 0 && first <= ranks[len(ranks)-1] {
			return nil, fmt.Errorf("ranks %q: %d does not come after %d", words.Echo(string(r)), first, ranks[len(ranks)-1])
		}
		if len(ranks)+int((last-first)/step)+1 > most {
			return nil, fmt.Errorf("ranks %q: they are more than %d", words.Echo(string(r)), most)
		}
		for rank := first; rank <= last; rank += step {
			ranks = append(ranks, rank)
		}
	}
	return ranks, nil
}

func parseRun(run string) (first, last, step int32, err error) {
	ends, stepText, stepped := strings.Cut(run, "/")
	firstText, lastText, more := strings.Cut(ends, "-")
	first, err = parseRank(firstText)
	last, step = first, 1
	if err == nil && more {
		last, err = parseRank(lastText)
	}
	if err == nil && stepped {
		step, err = parseRank(stepText)
	}
	if err != nil {
		return 0, 0, 0, fmt.Errorf("ranks %q: %w", words.Echo(run), err)
	}
	if last < first || step < 1 || stepped && !more || (last-first)%step != 0 {
		return 0, 0, 0, fmt.Errorf("ranks %q: use FIRST-LAST/STEP with a step above 0 that leads from the first to the last", words.Echo(run))
	}
	return first, last, step, nil
}

func parseRank(text string) (int32, error) {
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil || number >= MaxWorldSize {
		return 0, fmt.Errorf("%q is no rank from 0 to %d", words.Echo(text), MaxWorldSize-1)
	}
	return int32(number), nil
}
