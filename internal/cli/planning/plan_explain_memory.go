package planning

import (
	"fmt"
	"io"
	"slices"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// componentNames are the components of memory for people.
var componentNames = map[string]string{
	"weights": "weights", "kvCache": "KV cache", "activations": "activations", "gradients": "gradients", "optimizer": "optimizer",
	"engine": "engine", "communication": "communication",
}

// explainStages prints the memory of each device of the stages. Of more than three stages it prints the first, the last and the
// fullest.
func explainStages(w io.Writer, p *explain.PartExplanation, length, asked int64) error {
	shown := shownStages(p.Memory)
	parts := make([]func(io.Writer) error, 0, len(shown)+1)
	for _, i := range shown {
		s := &p.Memory[i]
		parts = append(parts, func(w io.Writer) error { return explainStage(w, s, len(p.Memory), length, asked) })
	}
	if rest := len(p.Memory) - len(shown); rest > 0 {
		parts = append(parts, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "The other %d stages need no more than the fullest of these.\n", rest)
			return err
		})
	}
	return term.Paragraphs(w, parts...)
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

func explainStage(w io.Writer, s *explain.StageMemory, stages int, length, asked int64) error {
	if _, err := fmt.Fprintf(w, "Each device of stage %d, layers %d to %d:\n", s.Stage, s.FirstLayer, s.LastLayer); err != nil {
		return err
	}
	var rows [][]string
	for _, l := range s.Lines {
		formula := l.Formula
		if l.Note != "" {
			formula += "; " + l.Note
		}
		rows = append(rows, []string{componentNames[l.Component], l.Name, words.HumanBytes(l.Bytes), formula})
	}
	rows = append(rows, []string{"total", " ", words.HumanBytes(s.UsedBytes), " "})
	for i, l := range s.Offer {
		name := " "
		if i == 0 {
			name = "device"
		}
		formula := l.Formula
		if i == 0 {
			formula = fmt.Sprintf("%s on %s, which offers least", s.Product, s.Node)
		}
		rows = append(rows, []string{name, l.Name, words.HumanBytes(l.Bytes), formula})
	}
	if err := term.Table(w, nil, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, leftText(s, stages, length, asked))
	return err
}

// leftText says what remains of the device's memory, and what it is good for.
func leftText(s *explain.StageMemory, stages int, length, asked int64) string {
	text := fmt.Sprintf("Needed %s, left %s", words.HumanBytes(s.NeededBytes), words.HumanBytes(s.LeftBytes))
	if s.NeededBytes != s.UsedBytes {
		text = fmt.Sprintf("Needed %s by the engine's rule, left %s", words.HumanBytes(s.NeededBytes), words.HumanBytes(s.LeftBytes))
	}
	if length == 0 {
		return text + "."
	}
	where := ""
	if stages > 1 {
		where = "this stage has "
	}
	return fmt.Sprintf("%s: %sroom for %d sequences of %d tokens where %d are asked for.", text, where, s.Sequences, length, asked)
}
