package questions

import (
	"bytes"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

const document = "../../docs/use/questions.md"

// leastQuestions are asked at least.
const leastQuestions = 60

// TestQuestions asks every question, and holds answers and document to what is known publicly. An answer that is off fails the
// test unless the question says why.
func TestQuestions(t *testing.T) {
	questions, err := readQuestions()
	if err != nil {
		t.Fatal(err)
	}
	if len(questions) < leastQuestions {
		t.Errorf("%d questions, want at least %d", len(questions), leastQuestions)
	}
	answers := make([]answer, len(questions))
	for i := range questions {
		q := &questions[i]
		t.Run(q.ID, func(t *testing.T) {
			answers[i] = ask(t, q)
			switch right := q.right(answers[i]); {
			case !right && q.Miss == "":
				t.Errorf("%s\n%s\nanswered %s\nknown    %s", q.Question, q.Command, q.answered(answers[i]), q.known())
			case right && q.Miss != "":
				t.Logf("answered %s, and known is %s: its miss can go", q.answered(answers[i]), q.known())
			}
		})
	}
	hold(t, page(questions, answers))
}

// TestQuestionsAreSourced says that each question is one, and names where its answer is known from.
func TestQuestionsAreSourced(t *testing.T) {
	questions, err := readQuestions()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range questions {
		q := &questions[i]
		if seen[q.ID] || q.ID == "" || !strings.HasSuffix(q.Question, "?") || q.Topic == "" || len(q.Take) == 0 || len(q.Sources) == 0 {
			t.Errorf("%q: it needs an id of its own, a question, a topic, what is taken and a source", q.ID)
		}
		seen[q.ID] = true
		if (q.Judge == within) != (q.Percent > 0 && q.Stated != "") {
			t.Errorf("%s: percent and stated are for answers judged by percent, and only for these", q.ID)
		}
		for _, s := range q.Sources {
			if address, err := url.Parse(s.Address); err != nil || address.Host == "" || s.Of == "" {
				t.Errorf("%s: %q of %q is no source: give its address, and the day or version that it speaks of", q.ID, s.Address, s.Of)
			}
		}
	}
}

// ask runs the command of a question, or the commands of its pipe, as a shell would.
func ask(t *testing.T, q *question) answer {
	t.Helper()
	var out, errs bytes.Buffer
	code := term.ExitOK
	for command := range strings.SplitSeq(q.Command, " | ") {
		args, found := strings.CutPrefix(command, "kubectl rankwright ")
		if !found {
			t.Fatalf("%q is no command of kubectl rankwright", command)
		}
		in := strings.NewReader(out.String())
		out.Reset()
		if code = cli.Run(t.Context(), words(args), term.Streams{In: in, Out: &out, Err: &errs, Now: clitest.Still()}); code != term.ExitOK {
			break
		}
	}
	read, err := q.read(out.String(), clitest.Unfolded(errs.String()), code != term.ExitOK)
	if err != nil {
		t.Fatalf("%s: exit code %d: %v", q.Command, code, err)
	}
	return read
}

// words divides a line at spaces, but for those between double quotes.
func words(line string) []string {
	var list []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

// hold compares the document with what it is to be, or writes it.
func hold(t *testing.T, want string) {
	t.Helper()
	if *clitest.Update {
		if err := os.WriteFile(document, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is out of date: run the test with -update (-documented +answered):\n%s", document, diff)
	}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		judge        judge
		known        known
		answer       answer
		right, wrong any
	}{
		{judge: equal, known: known{Value: true}, right: true, wrong: false},
		{judge: product, known: known{Value: 16.0}, right: 16.0, wrong: 8.0},
		{judge: within, known: known{Value: 100.0}, right: 98.1, wrong: 97.9},
		{judge: digits, known: known{Value: 36.7}, right: 36.66, wrong: 36.6},
		{judge: between, known: known{Low: 1, High: 2}, right: 2.0, wrong: 3.0},
	} {
		q := question{Judge: test.judge, Known: test.known, Percent: 2, Digits: 1}
		if !q.right(answer{Value: test.right}) || q.right(answer{Value: test.wrong}) {
			t.Errorf("%s: %v is right and %v is wrong of %v", test.judge, test.right, test.wrong, test.known)
		}
	}
	ranged := question{Judge: inRange, Known: known{Value: 18.5}}
	for _, test := range []struct {
		low, high float64
		want      bool
	}{{18, 19, true}, {18.5, 20, true}, {10, 18.4, false}, {18.5, 18.5, false}} {
		if got := ranged.right(answer{Value: test.low, Low: test.low, High: test.high}); got != test.want {
			t.Errorf("18.5 in %g to %g: %t", test.low, test.high, got)
		}
	}
	flags := question{Judge: contains, Known: known{Value: []any{"--tp", "8"}}}
	if !flags.right(answer{Value: []any{"--tp", "8", "--ep", "8"}}) || flags.right(answer{Value: []any{"--tp", "4"}}) {
		t.Error("flags are right where all that are known are among them")
	}
	if ranged.right(answer{Refusal: "error: no", Low: 18, High: 19}) {
		t.Error("a refusal answers nothing")
	}
	no := question{Judge: refused, Take: []string{"28"}}
	if !no.right(answer{Refusal: "error: 28 heads"}) || no.right(answer{}) || no.right(answer{Refusal: "error: no such flag"}) {
		t.Error("a refusal names what is taken")
	}
}

func TestPathValue(t *testing.T) {
	printed := map[string]any{"offers": []any{map[string]any{"count": 8.0}, map[string]any{"count": 1.0, "usd": 3.0}}}
	for path, want := range map[string]any{"offers[count=1].usd": 3.0, "offers[0].count": 8.0, "offers.length": 2.0, "offers[2].usd": nil, "none": nil, "offers.usd": nil} {
		if got, found := pathValue(printed, path); got != want || found != (want != nil) {
			t.Errorf("%s: %v, %t, want %v", path, got, found, want)
		}
	}
	if diff := cmp.Diff([]string{"--device", "RTX 4090", "--tp", "2"}, words(`--device "RTX 4090" --tp 2`)); diff != "" {
		t.Error(diff)
	}
}
