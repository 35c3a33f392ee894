package sizing

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/replay"
)

// maxTrace is the size in bytes of a trace: ShareGPT's conversations have 0.7 GB.
const maxTrace = 1 << 30

// fixed is the word for requests of which all have the same lengths.
const fixed = "fixed"

// usualRequests is how many requests are drawn of a distribution where nothing is said.
const usualRequests = 1000

// LengthsFlag is where the lengths of requests are from: a distribution that was published, lengths that are all alike, or a trace.
type LengthsFlag struct {
	of    string
	flags *pflag.FlagSet
}

// Add adds the flag to a command that has --isl and --osl too.
func (f *LengthsFlag) Add(command *cobra.Command) {
	f.flags = command.Flags()
	f.flags.StringVar(&f.of, "lengths", "", fmt.Sprintf("lengths of requests instead of --isl and --osl, `%s|FILE`: published ones or those of a trace, of which - is standard input; %s are --isl and --osl of every request",
		strings.Join(append(replay.Names(), fixed), "|"), fixed))
	term.Complete(command, "lengths", append(replay.Names(), fixed))
}

// given says whether there is another source of lengths than --isl and --osl.
func (f *LengthsFlag) given() bool { return f.of != "" && !strings.EqualFold(f.of, fixed) }

// alike says whether all requests have the same lengths.
func (f *LengthsFlag) alike() bool { return strings.EqualFold(f.of, fixed) }

// ofLengths is the value of --replay without a file.
const ofLengths = "lengths"

// replays takes the file of --replay, which may follow it as an argument, as where lengths are from.
func (f *LengthsFlag) replays(value string, args []string) error {
	file := ""
	switch {
	case len(args) > 0 && value != ofLengths:
		return term.Usagef("argument %s: estimate takes flags only, but for the trace of --replay", args[0])
	case len(args) > 0:
		file = args[0]
	case value != ofLengths:
		file = value
	}
	if file == "" {
		return nil
	}
	if f.of != "" {
		return term.Usagef("--replay %s beside --lengths %s: leave one out", file, f.of)
	}
	f.of = file
	return nil
}

// Trace returns the requests of a trace, the first of them, or so many that are drawn of a distribution (0: as usual). Nil where --isl and --osl count.
func (f *LengthsFlag) Trace(streams term.Streams, requests int64) (*replay.Trace, error) {
	if !f.given() {
		return nil, nil
	}
	for _, other := range [...]string{"isl", "osl", "length-variation"} {
		if flag := f.flags.Lookup(other); flag != nil && flag.Changed {
			return nil, term.Usagef("--%s beside --lengths %s, which has lengths: leave one out", other, f.of)
		}
	}
	if d, known := replay.Named(f.of); known {
		return drawn(d, requests)
	}
	content, err := term.ReadInput(f.of, streams, maxTrace)
	if err != nil {
		return nil, fmt.Errorf("lengths: %w: give %s", err, strings.Join(append(replay.Names(), fixed, "the file of a trace"), ", "))
	}
	t, err := replay.Read(content)
	if err != nil {
		return nil, fmt.Errorf("lengths: %s: %w", f.of, err)
	}
	t.First(requests)
	return t, nil
}

// Lengths returns what a planner asks of the flag's source; nil where it is not given. Lengths that are all alike have no tokens of their own.
func (f *LengthsFlag) Lengths(streams term.Streams) (*replay.Lengths, error) {
	if f.alike() {
		return &replay.Lengths{}, nil
	}
	t, err := f.Trace(streams, 0)
	if err != nil || t == nil {
		return nil, err
	}
	of := t.Lengths()
	return &of, nil
}

// maxDrawn is how many requests are drawn of a distribution at most.
const maxDrawn = 1 << 20

func drawn(d replay.Distribution, requests int64) (*replay.Trace, error) {
	if requests == 0 {
		requests = usualRequests
	}
	if requests < 1 || requests > maxDrawn {
		return nil, term.Usagef("--requests %d: of a distribution from 1 to %d are drawn", requests, maxDrawn)
	}
	return d.Draw(int(requests)), nil
}
