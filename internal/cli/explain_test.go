package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestExplainAddsUp computes again what explanations print: what stands right of "=" and left of an arithmetic must follow
// from the printed numbers, each of which is known to half of its last digit.
func TestExplainAddsUp(t *testing.T) {
	files, err := filepath.Glob("../../docs/internals/scenarios/*/explain.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("scenarios: %v, %v", files, err)
	}
	checked := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkExplanation(t, filepath.Base(filepath.Dir(file)), string(text), checked)
	}
	for _, command := range []string{
		"recommend --model DeepSeek-V3 --device H100 --devices 8 --nodes 2 --concurrency 64 -o explain",
		"recommend --model gpt-oss-120b --device B200 --devices 1 --isl 20000 --osl 200 -o explain",
		"recommend --model Qwen3-Next-80B-A3B-Instruct --device MI300X --devices 4 -o explain",
		"recommend --model Qwen3-235B-A22B --weights NVFP4 --device B200 --devices 4 -o explain",
		"recommend --model 70B --device L4 --devices 8 --concurrency 8 -o explain",
		"recommend --model Llama-3.1-8B --device L4 --max-sequences 1 -o explain",
		"estimate --model Llama-3.3-70B --device H100 --tp 4 --isl 1000 --osl 500 --concurrency 64 --max-tpot 21ms -o explain",
		"estimate --model Llama-3.1-8B --device H100 --isl 500 --osl 500 --concurrency 64 --requests 100 --replicas 2 -o explain",
		"estimate --model Qwen3-235B-A22B --device H200 --tp 8 --isl 9000 --osl 100 --concurrency 300 -o explain",
	} {
		checkExplanation(t, command, ok(t, "", strings.Fields(command)...), checked)
	}
	for _, serving := range []string{
		"speculation.method=Draft,speculation.model=Llama-3.2-1B,speculation.tokens=4,speculation.acceptancePercent=70", "prefixCache.sharedTokens=1000,offload.giB=64,offload.hitPercent=20",
		"adapters.count=64,adapters.rank=16,adapters.active=8", "prefixCache.hitPercent=40,speculation.method=NGram,speculation.tokens=2,speculation.acceptancePercent=40",
	} {
		for _, command := range []string{
			"recommend --model Llama-3.1-70B --device H100 --devices 4 --isl 4000 --osl 500 --concurrency 32 -o explain --serving ",
			"estimate --model Llama-3.1-70B --device H100 --tp 4 --isl 4000 --osl 500 --max-model-len 16000 --concurrency 1 -o explain --serving ",
		} {
			got := run(t, "", strings.Fields(command+serving)...) // with a warning of what is assumed
			if got.Code != 0 {
				t.Fatalf("%s: %s", serving, got.Err)
			}
			checkExplanation(t, serving, got.Out, checked)
		}
	}
	folder := filepath.Join(t.TempDir(), "hosts")
	ok(t, "", "simulate", "--shape", "h100x8=2", "--write", folder)
	for _, degrees := range []string{"tensor: 4, pipeline: 2, data: 2", "tensor: 8", "data: 2, context: 4"} {
		const trained = `{apiVersion: rankwright.dev/v1alpha1, kind: ModelPlacement, metadata: {name: t}, spec: {model: {name: Llama-3.1-8B}, engine: Torch, parallelism: {%s},
			workload: {training: {method: Full, optimizer: AdamW, sequenceLength: 4096, globalBatch: 64, microBatch: 1, activationCheckpointing: true, sharding: FSDP}}}}`
		text := ok(t, fmt.Sprintf(trained, degrees), "plan", "-f", folder, "-f", "-", "-o", "explain")
		checkExplanation(t, degrees, text, checked)
	}
	for _, seen := range []string{"rate", "part", "devices", "step", "memory", "total", "shape", "left", "TPOT", "Prompt alone", "TTFT", "Pace", "Throughput", "Price", "Ahead", "Mixed step", "Mixed steps", "Residual", "All-reduces", "training"} {
		if checked[seen] == 0 {
			t.Errorf("no %s was checked: %v", seen, checked)
		}
	}
}

// TestExplainTestCatches: a number that does not follow is found.
func TestExplainTestCatches(t *testing.T) {
	for text, holds := range map[string]bool{
		"3.35 TB/s × 0.871 = 2.92 TB/s":                                         true,
		"3.35 TB/s × 0.871 = 2.95 TB/s":                                         false,
		"(21.3 ms beside 64 × 5.02 µs of the host's work) + 897 µs = 22.2 ms":   true,
		"(21.3 ms beside 64 × 5.02 µs of the host's work) + 897 µs = 22.5 ms":   false,
		"58.7 requests / 28.5 ms = 2100 tokens/s (1400 to 2900)":                true,
		"58.7 requests / 28.5 ms = 2300 tokens/s (1400 to 2900)":                false,
		"6.55 GB / 1.81 TB/s = 3.61 ms beside 52.4 GFLOP / 670 TFLOP/s = 99 µs": false,
	} {
		if bad, n := wrong(text); (len(bad) == 0) != holds || n == 0 {
			t.Errorf("%s: %v", text, bad)
		}
	}
}

func checkExplanation(t *testing.T, name, text string, checked map[string]int) {
	t.Helper()
	section, table, offered := "", "", ""
	sum := interval{}
	check := func(kind, left string, right interval) {
		t.Helper()
		value, ok := evaluate(left)
		if !ok {
			return
		}
		checked[kind]++
		if !value.meets(right) {
			t.Errorf("%s: %s: %q is %v, and not %v", name, kind, left, value, right)
		}
	}
	for _, line := range unfolded(text) {
		if regexp.MustCompile(`^\d\. `).MatchString(line) {
			section, table, sum = line[:1], "", interval{}
		}
		if strings.HasPrefix(line, "The rates ") { // estimate does not number its sections
			section = "5"
		} else if strings.HasPrefix(line, "What each part adds ") {
			section = ""
		}
		columns := regexp.MustCompile(`\s{2,}`).Split(line, -1)
		switch {
		case strings.HasPrefix(line, "RATE "), strings.HasPrefix(line, "PART "), strings.HasPrefix(line, "SHAPE "):
			table, sum = columns[0], interval{}
			continue
		case strings.HasPrefix(line, "Each device"):
			table, sum = "memory", interval{}
			continue
		}
		switch {
		case section == "3" && table == "SHAPE" && len(columns) > 5 && slices.Contains(headers(text, "SHAPE"), "TOKENS/S A DEVICE"):
			header := headers(text, "SHAPE")
			at := func(name string) string { return columns[slices.Index(header, name)] }
			if slices.Contains(header, "TOKENS/S") {
				check("shape", at("TOKENS/S")+" tokens/s / "+at("DEVICES"), printed(at("TOKENS/S A DEVICE")+" tokens/s"))
			}
		case section == "4" && table == "memory" && len(columns) >= 3 && columns[0] != "device" && columns[0] != "total" && columns[0] != "":
			value := printed(columns[2])
			sum = sum.plus(value)
			if len(columns) > 3 {
				formula, _, _ := strings.Cut(columns[3], ";")
				check("memory", formula, value)
			}
		case section == "4" && columns[0] == "total":
			checked["total"]++
			if value := printed(columns[1]); !sum.meets(value) {
				t.Errorf("%s: memory sums up to %v, and not %v", name, sum, value)
			}
			table = "device"
		case section == "4" && columns[0] == "" && len(columns) > 3:
			if columns[1] == "offered" {
				offered = columns[2]
			}
			check("memory", columns[3], printed(columns[2]))
		case section == "5" && table == "RATE" && len(columns) == 3:
			check("rate", columns[2], printed(columns[1]))
		case section == "5" && table == "PART" && len(columns) == 3 && columns[2] == "sum":
			checked["devices"]++
			if value := printed(columns[1]); !sum.meets(value) {
				t.Errorf("%s: %s: parts sum up to %v, and not %v", name, columns[0], sum, value)
			}
		case section == "5" && table == "PART" && len(columns) == 3:
			value := printed(columns[1])
			kind := map[string]string{"step": "step", "rate": "training", "link rate": "training", "collectives": "training", "transfer": "training", "arithmetic": "training", "gradients": "training", "tokens/s": "training"}[columns[0]]
			if kind == "" {
				kind = "part"
			}
			if columns[0] != "rate" && columns[0] != "link rate" && columns[0] != "step" {
				sum = sum.plus(value)
			}
			total, rest, known := interval{}, columns[2], headers(text, "RATE") != nil || strings.ContainsAny(columns[2], "×/+")
			for part := range strings.SplitSeq(rest, ", ") {
				add, ok := partOf(part)
				known = known && ok
				total = total.plus(add)
			}
			if known {
				checked[kind]++
				if columns[0] == "tokens/s" {
					value = printed(columns[1] + " tokens/s")
				}
				if !total.meets(value) {
					t.Errorf("%s: %s: %q is %v, and not %v", name, columns[0], columns[2], total, value)
				}
			}
			report(t, name, line, columns[2])
		case strings.HasPrefix(line, "Needed "):
			if needed, left, ok := strings.Cut(strings.TrimPrefix(line, "Needed "), ", left "); ok {
				left, _, _ = strings.Cut(left, ":")
				check("left", fmt.Sprintf("%s - %s", offered, needed), printed(left).wider(0.06*(1<<30)))
			}
		case section == "5":
			if label, rest, ok := strings.Cut(line, ":"); ok && len(label) < 14 {
				checked[label] += report(t, name, line, rest)
			}
		}
	}
}

// report checks the equations of a text and returns how many there are.
func report(t *testing.T, name, line, text string) int {
	t.Helper()
	bad, n := wrong(text)
	for _, b := range bad {
		t.Errorf("%s: %s: %s", name, line, b)
	}
	return n
}

// wrong returns the equations of a text that do not hold, and how many equations there are.
func wrong(text string) (bad []string, n int) {
	for clause := range strings.SplitSeq(text, "; ") {
		if at := strings.LastIndex(clause, ": "); at >= 0 {
			clause = clause[at+2:]
		}
		clause = regexp.MustCompile(`(= [0-9.]+ \S+) beside `).ReplaceAllString(clause, "$1, ")
		for part := range strings.SplitSeq(clause, ", ") {
			left, right, ok := strings.Cut(part, " = ")
			if !ok {
				continue
			}
			n++
			value, ok := evaluate(left)
			if want := printed(right); !ok || !value.meets(want) {
				bad = append(bad, fmt.Sprintf("%q is %v, and not %v", left, value, want))
			}
		}
	}
	return bad, n
}

// partOf is what a part of a row's arithmetic comes to: of equations what stands on the right.
func partOf(text string) (interval, bool) {
	all := interval{}
	for i, side := range regexp.MustCompile(` beside `).Split(text, -1) {
		if strings.Contains(text, "(") { // of a step: an expression
			return evaluate(text)
		}
		if _, right, ok := strings.Cut(side, " = "); ok {
			side = right
		}
		value, ok := evaluate(side)
		if !ok {
			return interval{}, false
		}
		if i == 0 {
			all = value
		} else {
			all = all.beside(value)
		}
	}
	return all, true
}

// unfolded joins the lines that were folded.
func unfolded(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if rows := regexp.MustCompile(`\s{2,}`).Split(trimmed, -1); strings.HasPrefix(line, "  ") && len(rows) == 1 && len(lines) > 0 {
			lines[len(lines)-1] += " " + trimmed
			continue
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

func headers(text, first string) []string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, first+" ") {
			return regexp.MustCompile(`\s{2,}`).Split(line, -1)
		}
	}
	return nil
}

// interval is what a printed number may have been before it was rounded.
type interval struct{ low, high float64 }

func (a interval) plus(b interval) interval  { return interval{a.low + b.low, a.high + b.high} }
func (a interval) minus(b interval) interval { return interval{a.low - b.high, a.high - b.low} }
func (a interval) wider(by float64) interval { return interval{a.low - by, a.high + by} }
func (a interval) times(b interval) interval { return interval{a.low * b.low, a.high * b.high} }
func (a interval) over(b interval) interval  { return interval{a.low / b.high, a.high / b.low} }

func (a interval) beside(b interval) interval {
	soft := func(x, y float64) float64 { return math.Cbrt(x*x*x + y*y*y) }
	return interval{soft(a.low, b.low), soft(a.high, b.high)}
}

func (a interval) meets(b interval) bool {
	const slack = 1e-9
	return a.low <= b.high*(1+slack) && b.low <= a.high*(1+slack)
}

var units = map[string]float64{
	"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
	"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
	"FLOP": 1, "kFLOP": 1e3, "MFLOP": 1e6, "GFLOP": 1e9, "TFLOP": 1e12, "PFLOP": 1e15,
	"FLOP/s": 1, "GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15,
	"µs": 1e-6, "ms": 1e-3, "s": 1, "tokens/s": 1, "USD": 1,
}

var operators = []string{"(", ")", "×", "/", "+", "-"}

var lexical = regexp.MustCompile(`\d[\d.]*(?:e[+-]?\d+)?|[()×/+-]|[^\s()×+]+`)

// numeral reads a number and its unit: exact where it is a whole number of things.
func numeral(number, unit string) interval {
	v, err := strconv.ParseFloat(strings.TrimSuffix(number, "."), 64)
	if err != nil {
		panic(err)
	}
	scale, measured := units[unit]
	half := 0.0
	if _, decimals, ok := strings.Cut(number, "."); ok {
		half = 0.5 * math.Pow(10, -float64(len(decimals)))
	} else if measured && unit != "B" && (unit != "s" || v != 3600) {
		zeros := len(number) - len(strings.TrimRight(number, "0"))
		half = 0.5 * math.Pow(10, float64(max(0, min(zeros, len(number)-2)))) // ranges leave two digits
		if strings.HasSuffix(unit, "iB") && v > 1024 {
			half = 0
		}
	}
	if strings.HasSuffix(unit, "iB") && half > 0 {
		half *= 2 // what is needed is rounded up
	}
	if !measured {
		scale = 1
	}
	return interval{(v - half) * scale, (v + half) * scale}
}

// printed reads the first number of a text.
func printed(text string) interval {
	words := strings.Fields(text)
	if len(words) == 0 {
		return interval{}
	}
	unit := ""
	if len(words) > 1 {
		unit = strings.TrimRight(words[1], ".,;:")
	}
	if negative, ok := strings.CutPrefix(words[0], "-"); ok {
		return interval{}.minus(numeral(negative, unit))
	}
	if !regexp.MustCompile(`^[\d.]+$`).MatchString(words[0]) {
		return interval{math.NaN(), math.NaN()}
	}
	return numeral(words[0], unit)
}

// evaluate computes an arithmetic in which words other than units are ignored; false where it has no number.
func evaluate(text string) (interval, bool) {
	e := &evaluation{}
	tokens := lexical.FindAllString(text, -1)
	for i := 0; i < len(tokens); i++ {
		switch token := tokens[i]; {
		case regexp.MustCompile(`^\d`).MatchString(token):
			unit := ""
			if i+1 < len(tokens) {
				if _, ok := units[tokens[i+1]]; ok {
					unit = tokens[i+1]
				}
			}
			e.list = append(e.list, lexeme{value: numeral(token, unit)})
		case token == "beside" || slices.Contains(operators, token):
			e.list = append(e.list, lexeme{operator: token})
		}
	}
	if len(e.list) == 0 || !slices.ContainsFunc(e.list, func(t lexeme) bool { return t.operator == "" }) {
		return interval{}, false
	}
	value := e.overlap()
	return value, e.at == len(e.list)
}

type lexeme struct {
	operator string
	value    interval
}

type evaluation struct {
	list []lexeme
	at   int
}

func (e *evaluation) next(operators ...string) string {
	if e.at < len(e.list) && slices.Contains(operators, e.list[e.at].operator) && e.list[e.at].operator != "" {
		e.at++
		return e.list[e.at-1].operator
	}
	return ""
}

func (e *evaluation) overlap() interval {
	v := e.sum()
	for e.next("beside") != "" {
		v = v.beside(e.sum())
	}
	return v
}

func (e *evaluation) sum() interval {
	v := e.product()
	for {
		switch e.next("+", "-") {
		case "+":
			v = v.plus(e.product())
		case "-":
			v = v.minus(e.product())
		default:
			return v
		}
	}
}

func (e *evaluation) product() interval {
	v := e.factor()
	for {
		switch e.next("×", "/") {
		case "×":
			v = v.times(e.factor())
		case "/":
			v = v.over(e.factor())
		default:
			return v
		}
	}
}

func (e *evaluation) factor() interval {
	if e.next("(") != "" {
		v := e.overlap()
		e.next(")")
		return v
	}
	if e.at >= len(e.list) || e.list[e.at].operator != "" {
		return interval{math.NaN(), math.NaN()}
	}
	e.at++
	return e.list[e.at-1].value
}
