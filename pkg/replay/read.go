package replay

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// quantity is what a column has.
type quantity int

const (
	input quantity = iota
	output
	seconds
	millis
	timestamp // milliseconds in JSON, as of Mooncake; seconds or a date in CSV, as of BurstGPT and Azure
)

// columns are the names of columns in lower case without anything but letters, as in the traces of Mooncake (input_length), Azure (ContextTokens, GeneratedTokens),
// BurstGPT (Request tokens, Response tokens) and Vidur (num_prefill_tokens, arrived_at), in the usage of an answer of OpenAI's API and as people call them.
var columns = map[string]quantity{
	"inputlength": input, "inputtokens": input, "prompttokens": input, "contexttokens": input, "requesttokens": input, "numprefilltokens": input, "inputlen": input, "promptlen": input, "isl": input, "input": input,
	"outputlength": output, "outputtokens": output, "completiontokens": output, "generatedtokens": output, "responsetokens": output, "numdecodetokens": output, "outputlen": output, "osl": output, "output": output,
	"arrival": seconds, "arrivedat": seconds, "arrivaltime": seconds, "arrivalseconds": seconds,
	"arrivalms": millis, "arrivalmillis": millis, "timestampms": millis,
	"timestamp": timestamp,
}

// Formats says what Read reads, for people.
const Formats = "JSON lines or CSV with tokens of prompts and answers, and when they arrive where that is known (Mooncake, Azure, BurstGPT, Vidur, or columns input_tokens, output_tokens and arrival in seconds), " +
	"a result of vllm bench serve --save-detailed, or conversations of ShareGPT"

// Read reads a trace in any of the formats that Formats names, and tells them apart by what is in it. The error names the line, the value and the remedy.
func Read(content []byte) (*Trace, error) {
	content = bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\ufeff")))
	var t *Trace
	var err error
	switch {
	case len(content) == 0:
		return nil, errors.New("the trace is empty: give " + Formats)
	case content[0] == '[':
		t, err = conversations(content)
	case content[0] == '{' && json.Valid(content) && bytes.Contains(content, []byte(`"input_lens"`)):
		t, err = benchmark(content)
	case content[0] == '{':
		t, err = lines(content)
	default:
		t, err = table(content)
	}
	if err != nil {
		return nil, err
	}
	if len(t.Requests) == 0 {
		return nil, fmt.Errorf("the trace has no request with a prompt and an answer (%d rows have none): give %s", t.Skipped, Formats)
	}
	t.sort()
	return t, nil
}

// add adds a row; one without a prompt or an answer is a request that failed.
func (t *Trace) add(row int, in, out, at float64) error {
	switch {
	case len(t.Requests) >= maxRequests:
		return fmt.Errorf("row %d: a trace has at most %d requests: cut it", row, maxRequests)
	case !(in >= 0 && in <= maxTokens) || !(out >= 0 && out <= maxTokens):
		return fmt.Errorf("row %d: %.0f tokens in and %.0f out: a request has from 1 to %d of each", row, in, out, maxTokens)
	case !(math.Abs(at) <= 1e12):
		return fmt.Errorf("row %d: it arrives at %g s: give a time within 1e12 s", row, at)
	case in < 1 || out < 1:
		t.Skipped++
		return nil
	}
	t.Requests = append(t.Requests, Request{Arrival: at, Input: int(in), Output: int(out)})
	return nil
}

// lines reads a JSON object a line.
func lines(content []byte) (*Trace, error) {
	t, rows := &Trace{Source: "the trace's lines"}, 0
	for i, line := range bytes.Split(content, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var row map[string]any
		decoder := json.NewDecoder(bytes.NewReader(line))
		if err := decoder.Decode(&row); err != nil {
			return nil, fmt.Errorf("line %d: %w: give a JSON object a line", i+1, err)
		}
		var in, out, at float64
		var found [timestamp + 1]bool
		for _, name := range sorted(row) {
			what, known := columns[letters(name)]
			if !known {
				continue
			}
			number, err := numberOf(row[name])
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", i+1, name, err)
			}
			found[what] = true
			switch what {
			case input:
				in = number
			case output:
				out = number
			case seconds:
				at = number
			default:
				at = number / 1e3
			}
		}
		if !found[input] || !found[output] {
			return nil, fmt.Errorf("line %d: it has no tokens in or out: name them input_length and output_length", i+1)
		}
		has := found[seconds] || found[millis] || found[timestamp]
		rows++
		if rows > 1 && has != t.Timed {
			return nil, fmt.Errorf("line %d: some lines have a time of arrival and some have none: give all or none one", i+1)
		}
		t.Timed = has
		if err := t.add(i+1, in, out, at); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func sorted(row map[string]any) []string {
	names := make([]string, 0, len(row))
	for name := range row {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func numberOf(value any) (float64, error) {
	switch v := value.(type) {
	case float64:
		return v, nil
	case string:
		return parsed(v)
	default:
		return 0, fmt.Errorf("%v: give a number", v)
	}
}

func parsed(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q: give a number", text)
	}
	return n, nil
}

// letters is a name in lower case without anything but letters.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// table reads a CSV whose first row names its columns.
func table(content []byte) (*Trace, error) {
	reader := csv.NewReader(bytes.NewReader(content))
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("row 1: %w: give %s", err, Formats)
	}
	at := [timestamp + 1]int{-1, -1, -1, -1, -1}
	for i, name := range header {
		if what, known := columns[letters(name)]; known && at[what] < 0 {
			at[what] = i
		}
	}
	if at[input] < 0 || at[output] < 0 {
		return nil, fmt.Errorf("row 1: no columns of tokens in and out among %q: name them input_tokens and output_tokens", header)
	}
	when, unit := cmp.Or(at[seconds]+1, at[timestamp]+1)-1, 1.0
	if when < 0 && at[millis] >= 0 {
		when, unit = at[millis], 1e3
	}
	t := &Trace{Source: "the trace's rows", Timed: when >= 0}
	for row := 2; ; row++ {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		in, err := parsed(cells[at[input]])
		if err != nil {
			return nil, fmt.Errorf("row %d: %s: %w", row, header[at[input]], err)
		}
		out, err := parsed(cells[at[output]])
		if err != nil {
			return nil, fmt.Errorf("row %d: %s: %w", row, header[at[output]], err)
		}
		moment := 0.0
		if when >= 0 {
			if moment, err = momentOf(cells[when]); err != nil {
				return nil, fmt.Errorf("row %d: %s: %w", row, header[when], err)
			}
		}
		if err := t.add(row, in, out, moment/unit); err != nil {
			return nil, err
		}
	}
}

// momentOf reads a number, or a date with a time as Azure's traces have them, in seconds.
func momentOf(text string) (float64, error) {
	if n, err := parsed(text); err == nil {
		return n, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339} {
		if moment, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return float64(moment.Unix()) + float64(moment.Nanosecond())/1e9, nil
		}
	}
	return 0, fmt.Errorf("%q: give a number of seconds, or a date as 2023-11-16 18:15:46.68", text)
}

// benchmark reads what vllm bench serve writes with --save-detailed: the tokens of each request, which were sent at a rate or all at once.
func benchmark(content []byte) (*Trace, error) {
	var of struct {
		Input  []float64 `json:"input_lens"`
		Output []float64 `json:"output_lens"`
		Starts []float64 `json:"start_times"`
	}
	if err := json.Unmarshal(content, &of); err != nil {
		return nil, err
	}
	if len(of.Input) != len(of.Output) {
		return nil, fmt.Errorf("input_lens has %d requests and output_lens %d: they must be as many", len(of.Input), len(of.Output))
	}
	t := &Trace{Source: "a result of vllm bench serve", Timed: len(of.Starts) == len(of.Input) && len(of.Starts) > 0}
	for i := range of.Input {
		at := 0.0
		if t.Timed {
			at = of.Starts[i]
		}
		if err := t.add(i+1, of.Input[i], of.Output[i], at); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// charactersPerToken is how long a token is in the mean. Source: OpenAI, "What are tokens and how to count them?": about 4 characters of English.
const charactersPerToken = 4

// Bounds of the conversations that vllm bench serve takes of ShareGPT, in tokens (is_valid_sequence of vllm/benchmarks/datasets.py).
const (
	shortestTurn    = 4
	longestPrompt   = 1024
	longestSequence = 2048
)

// conversations reads the first two turns of ShareGPT's conversations, as load generators do.
func conversations(content []byte) (*Trace, error) {
	var list []struct {
		Conversations []struct {
			Value string `json:"value"`
		} `json:"conversations"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("a list that is not of ShareGPT's conversations: %w: give %s", err, Formats)
	}
	t := &Trace{
		Source:      "ShareGPT's conversations: their first two turns",
		Assumptions: []string{fmt.Sprintf("tokens are counted as %d characters each, since the trace has text and no tokens", charactersPerToken)},
	}
	tokens := func(text string) float64 {
		return math.Round(float64(utf8.RuneCountInString(text)) / charactersPerToken)
	}
	for i := range list {
		turns := list[i].Conversations
		if len(turns) < 2 {
			t.Skipped++
			continue
		}
		in, out := tokens(turns[0].Value), tokens(turns[1].Value)
		if in < shortestTurn || out < shortestTurn || in > longestPrompt || in+out > longestSequence {
			t.Skipped++
			continue
		}
		if err := t.add(i+1, in, out, 0); err != nil {
			return nil, err
		}
	}
	return t, nil
}
