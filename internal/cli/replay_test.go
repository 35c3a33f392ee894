package cli

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/estimate"
)

// azure is a trace as Azure publishes them.
const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.5,374,44\n2023-11-16 18:15:46.9,3074,144\n2023-11-16 18:15:50.0,396,109\n"

// TestReplay: a trace from standard input is replayed by its times of arrival, and the closed form beside it is of its lengths.
func TestReplay(t *testing.T) {
	args := []string{"estimate", "--model", "Qwen3-14B", "--device", "H100", "--lengths", "-", "-o", "json"}
	got := clitest.Object[estimate.Replayed](t, ok(t, azure, append(args, "--replay")...))
	r := got.Replay
	if r == nil || r.Requests != 3 || r.InputTokens != 3844 || r.OutputTokens != 297 || math.Abs(got.ArrivalsPerSecond-2/3.5) > 1e-9 {
		t.Fatalf("%+v", got)
	}
	if r.Seconds < 3.5 || r.TTFTMillis.P99 < r.TTFTMillis.P50 || r.EndToEndMillis.P50 < r.TTFTMillis.P50 {
		t.Errorf("%+v", *r)
	}
	closed := clitest.Object[estimate.Answer](t, ok(t, azure, args...))
	asked := clitest.Object[estimate.Answer](t, ok(t, "", "estimate", "--model", "Qwen3-14B", "--device", "H100", "--isl", "1281", "--osl", "99", "--max-model-len", "3218", "--length-variation", "99", "-o", "json"))
	if *closed.TPOTMillis != *asked.TPOTMillis || *closed.TTFTMillis != *asked.TTFTMillis {
		t.Errorf("TTFT and TPOT of the trace's lengths are %v and %v, of the same numbers %v and %v", *closed.TTFTMillis, *closed.TPOTMillis, *asked.TTFTMillis, *asked.TPOTMillis)
	}
}

// TestAnswersSayWhereLengthsAreFrom: the means of lengths that were not asked for as numbers are printed with their source, and what bounds
// the requests of a trace that arrive.
func TestAnswersSayWhereLengthsAreFrom(t *testing.T) {
	base := []string{"estimate", "--model", "Qwen3-14B", "--device", "H100"}
	for _, want := range []string{
		"Lengths:       217 tokens in and 202 out in the mean, ", "performance-lab/qwen3-14b/h100\n",
	} {
		if out := ok(t, "", append(base, "--lengths", "ShareGPT")...); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out := ok(t, "", base...); strings.Contains(out, "Lengths:") {
		t.Errorf("lengths have a source that nobody named:\n%s", out)
	}
	out := ok(t, azure, append(base, "--lengths", "-", "--replay")...)
	for _, want := range []string{"Lengths:       1281 tokens in and 99 out in the mean, deviations of 99 %, at most 3218 together: the trace's rows\n", ", with which requests leave as fast as they arrive; "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestReplayOfAFile: a trace in a file, of which --requests takes the first.
func TestReplayOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(path, []byte(azure), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--lengths", path, "--replay"}, {"--replay", path}, {"--replay=" + path}} {
		got := clitest.Object[estimate.Replayed](t, ok(t, "", append([]string{"estimate", "--model", "Qwen3-14B", "--device", "H100", "--requests", "2", "-o", "json"}, args...)...))
		if got.Replay == nil || got.Replay.Requests != 2 || got.Replay.OutputTokens != 188 {
			t.Errorf("%q: %+v", args, got.Replay)
		}
	}
}

// TestLengthsOfAPlan: a plan is made for the lengths of a trace.
func TestLengthsOfAPlan(t *testing.T) {
	args := []string{"recommend", "--model", "Qwen3-14B", "--device", "H100", "--devices", "1"}
	if out := ok(t, azure, append(args, "--lengths", "-")...); !strings.Contains(out, "1281 tokens in and 99 tokens out") {
		t.Errorf("the plan is for other lengths:\n%s", out)
	}
	if out := ok(t, "", append(args, "--lengths", "sharegpt")...); !strings.Contains(out, "217 tokens in and 202 tokens out") {
		t.Errorf("the plan is for other lengths than ShareGPT's:\n%s", out)
	}
}

// TestLengthsAreRefused: what cannot be read or does not go together is refused, with what to do.
func TestLengthsAreRefused(t *testing.T) {
	base := []string{"estimate", "--model", "Llama-3.1-8B", "--device", "H100", "--replay"}
	for name, test := range map[string]struct {
		in   string
		args []string
		code int
		want string
	}{
		"no file":      {"", []string{"--lengths", "nowhere.csv"}, term.ExitFailure, "give ShareGPT, fixed, the file of a trace"},
		"no trace":     {"a,b\n1,2\n", []string{"--lengths", "-"}, term.ExitFailure, "name them input_tokens and output_tokens"},
		"two traces":   {"", []string{"--lengths", "ShareGPT", "trace.csv"}, term.ExitUsage, "--replay trace.csv beside --lengths ShareGPT"},
		"two lengths":  {"", []string{"--lengths", "ShareGPT", "--osl", "5"}, term.ExitUsage, "--osl beside --lengths ShareGPT"},
		"too many":     {"", []string{"--requests", "100000000"}, term.ExitUsage, "--requests 100000000"},
		"with a limit": {"", []string{"--max-tpot", "10ms"}, term.ExitFailure, "max-tpot: a replay serves the requests that it is given"},
	} {
		r := run(t, test.in, append(base, test.args...)...)
		if r.Code != test.code || !strings.Contains(r.Err, test.want) || r.Out != "" {
			t.Errorf("%s: exit code %d, errors %q, output %q; want %d and %q", name, r.Code, r.Err, r.Out, test.code, test.want)
		}
	}
	if r := run(t, "", "estimate", "--model", "Llama-3.1-8B", "--device", "H100", "trace.csv"); r.Code != term.ExitUsage || !strings.Contains(r.Err, "argument trace.csv: estimate takes flags only") {
		t.Errorf("an argument without --replay: exit code %d, errors %q", r.Code, r.Err)
	}
	r := run(t, azure, "recommend", "--model", "Qwen3-14B", "--device", "H100", "--devices", "1", "--lengths", "-", "--max-model-len", "2048")
	if r.Code != term.ExitUsage || !strings.Contains(r.Err, "the longest request of --lengths has 3218 tokens") {
		t.Errorf("exit code %d, errors %q", r.Code, r.Err)
	}
}
