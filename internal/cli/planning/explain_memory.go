package planning

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// componentNames are the components of memory whose name is otherwise for people.
var componentNames = map[string]string{"kvCache": "KV cache"}

// explainStages writes the memory of each device of the stages. Of more than three stages it writes the first, the last and the
// fullest.
func explainStages(p *term.Page, stages []explain.StageMemory, goal *explain.Goal) {
	shown := shownStages(stages)
	for n, i := range shown {
		if n > 0 {
			p.Paragraph()
		}
		explainStage(p, &stages[i], len(stages), goal)
	}
	if rest := len(stages) - len(shown); rest > 0 {
		p.Paragraph()
		p.Linef("The other %d stages need no more than the fullest of these.", rest)
	}
}

// shownStages are the stages that are printed.
func shownStages(stages []explain.StageMemory) []int {
	fullest := 0
	for i := range stages {
		if stages[i].NeededBytes > stages[fullest].NeededBytes {
			fullest = i
		}
	}
	shown := []int{0, 1, len(stages) - 1}
	if len(stages) > 3 {
		shown[1] = fullest
	}
	slices.Sort(shown)
	shown = slices.Compact(shown)
	return slices.DeleteFunc(shown, func(i int) bool { return i >= len(stages) })
}

func explainStage(p *term.Page, s *explain.StageMemory, stages int, goal *explain.Goal) {
	p.Linef("Each device of stage %d, layers %d to %d:", s.Stage, s.FirstLayer, s.LastLayer)
	rows := term.Rows(s.Lines, func(l *memory.Line) []any {
		formula := l.Formula
		if l.Note != "" {
			formula += "; " + l.Note
		}
		return []any{cmp.Or(componentNames[l.Component], l.Component), l.Name, words.HumanBytes(l.Bytes), formula}
	})
	rows = append(rows, []string{"total", " ", words.HumanBytes(s.UsedBytes), " "})
	for i, l := range s.Offer {
		name, formula := " ", l.Formula
		if i == 0 {
			name, formula = "device", fmt.Sprintf("%s on %s, which offers least", s.Product, s.Node)
		}
		rows = append(rows, []string{name, l.Name, words.HumanBytes(l.Bytes), formula})
	}
	p.Table(nil, rows)
	p.Line(leftText(s, stages, goal))
}

// leftText says what remains of the device's memory, and what it is good for.
func leftText(s *explain.StageMemory, stages int, goal *explain.Goal) string {
	rule, where := "", ""
	if s.NeededBytes != s.UsedBytes {
		rule = " by the engine's rule"
	}
	text := fmt.Sprintf("Needed %s%s, left %s", words.HumanBytes(s.NeededBytes), rule, words.HumanBytes(s.LeftBytes))
	if goal.MaxModelLen == 0 {
		return text + "."
	}
	if stages > 1 {
		where = "this stage has "
	}
	if s.Running > 0 {
		return fmt.Sprintf("%s: %sroom for %d requests of %d tokens in the mean (p99 of %d together: %d each), or for %d of %d tokens, where %d are asked for.",
			text, where, s.Running, goal.Mean, goal.Sequences, goal.Most, s.Sequences, goal.MaxModelLen, goal.Sequences)
	}
	return fmt.Sprintf("%s: %sroom for %d sequences of %d tokens where %d are asked for.", text, where, s.Sequences, goal.MaxModelLen, goal.Sequences)
}
