package questions

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// page is the document: what is asked, answered and known, by topic.
func page(questions []question, answers []answer) string {
	var b strings.Builder
	missed := 0
	for i := range questions {
		if !questions[i].right(answers[i]) {
			missed++
		}
	}
	fmt.Fprintf(&b, introduction, len(questions), len(questions)-missed)
	topic := ""
	for _, i := range byTopic(questions) {
		q := &questions[i]
		if q.Topic != topic {
			topic = q.Topic
			fmt.Fprintf(&b, "\n## %s\n\n| question | command | answer | known publicly | source | verdict |\n|---|---|---|---|---|---|\n", topic)
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n",
			q.Question, q.shortCommand(), q.answered(answers[i]), q.known(), q.sources(), q.verdict(answers[i]))
	}
	b.WriteString(corrections)
	for i := range questions {
		if q := &questions[i]; q.Corrected != "" {
			fmt.Fprintf(&b, "- %s %s\n", q.Question, q.Corrected)
		}
	}
	return b.String()
}

// byTopic orders questions by topic, and the topics as each was first asked of.
func byTopic(questions []question) []int {
	first := map[string]int{}
	order := make([]int, len(questions))
	for i := range questions {
		order[i] = i
		if _, found := first[questions[i].Topic]; !found {
			first[questions[i].Topic] = i
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return first[questions[a].Topic] - first[questions[b].Topic] })
	return order
}

// introduction takes the number of answers, and of those that agree.
const introduction = `# Questions

What is asked before hardware is bought or a model is deployed, the command that answers it, and what is known of it publicly. Of %d answers
%d agree with what is known, and any others are marked with the reason. What is known was read before a question's command was run, and no
question was dropped for its answer; what was corrected after the first run is [below](#corrected-after-the-first-run).

An answer in time, tokens per second or money agrees where what is known lies in the range that it states. One in bytes or requests
agrees within what [memory.md](memory.md) states, one that was published rounded where it rounds to the same, and a yes, a no or a refusal where it is
the same, or where the answer warns that it is nearer to the limit than memory is known. ` + "`go test ./test/questions`" + ` runs every command and holds this page to what they print; ` + "`-update`" + ` writes it anew. The data are in
[test/questions/questions.json](../test/questions/questions.json), in whose folder the commands are run. "kubectl rankwright" before and "-o json"
after the commands are left out.
`

// corrections heads the list of what was changed.
const corrections = `
## Corrected after the first run

`

func (q *question) shortCommand() string {
	command := strings.ReplaceAll(q.Command, " | kubectl rankwright ", " \\| ")
	return strings.TrimSuffix(strings.TrimPrefix(command, "kubectl rankwright "), " -o json")
}

// answered is the answer in words, with its range and what it rests on.
func (q *question) answered(a answer) string {
	switch {
	case a.Refusal != "":
		return "refused: " + firstSentence(a.Refusal)
	case q.Judge == refused:
		return "not refused"
	}
	switch value := a.Value.(type) {
	case bool:
		text := "no"
		if value {
			text = "yes"
		}
		if a.Uncertain {
			text += ", but nearer to the limit than memory is known, with a warning"
		}
		return text
	case float64:
		return q.number(value, a)
	}
	return plain(a.Value)
}

func (q *question) number(value float64, a answer) string {
	text := short(value)
	if q.Judge == digits {
		text = strconv.FormatFloat(value, 'f', q.Digits, 64)
	}
	if q.Unit != "" {
		text += " " + q.Unit
	}
	if a.Low < a.High {
		text += fmt.Sprintf(" (%s to %s), %s", short(a.Low), short(a.High), a.Basis)
	} else if q.Judge == within {
		text += fmt.Sprintf(" (±%g %%)", q.Percent)
	}
	return text
}

// known is what is known, in words.
func (q *question) known() string {
	text := q.Known.Says
	if text == "" {
		low, high := q.Known.interval()
		switch {
		case q.Known.Value == nil:
			text = short(low) + " to " + short(high)
		case low == 0:
			text = plain(q.Known.Value)
		default:
			text = strconv.FormatFloat(low, 'f', -1, 64)
		}
		if q.Unit != "" {
			text += " " + q.Unit
		}
	}
	return text
}

func (q *question) sources() string {
	list := make([]string, len(q.Sources))
	for i, s := range q.Sources {
		list[i] = fmt.Sprintf("[%s](%s)", s.Of, s.Address)
	}
	return strings.Join(list, ", ")
}

func (q *question) verdict(a answer) string {
	if q.right(a) {
		return "agrees"
	}
	return "**off**: " + q.Miss
}

// plain prints lists without words between.
func plain(value any) string { return strings.ReplaceAll(fmt.Sprint(value), "] [", "], [") }

// firstSentence is a reason up to its remedy, without what a shell adds.
func firstSentence(text string) string {
	text = strings.TrimPrefix(text, "error: ")
	text, _, _ = strings.Cut(text, " See 'kubectl")
	if i := strings.Index(text, ": use "); i > 0 {
		text = text[:i]
	}
	return text
}

// short prints three digits, or all of a larger whole number.
func short(value float64) string {
	if math.Abs(value) >= 1000 {
		return strconv.FormatFloat(math.Round(value), 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
