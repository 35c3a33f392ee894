package planning

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// explainParts are the sections of an explanation.
func (d *decision) explainParts() []func(io.Writer) error {
	e := d.why
	parts := []func(io.Writer) error{
		section("1. Devices that count", func(w io.Writer) error { return explainDevices(w, e) }),
		section("2. Precision", func(w io.Writer) error { return explainRungs(w, e.Rungs) }),
		section("3. Shapes", func(w io.Writer) error { return explainChoice(w, e) }),
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		whose := ""
		if len(e.Parts) > 1 {
			whose = " of " + copiesText(p)
		}
		parts = append(parts,
			section("4. Memory"+whose, func(w io.Writer) error { return explainStages(w, p, d.maxModelLen(), d.sequences()) }),
			section("5. Time"+whose, func(w io.Writer) error { return explainTimesOf(w, p) }),
			section("6. Place"+whose, func(w io.Writer) error { return explainPlace(w, p) }))
	}
	return parts
}

// copiesText names copies of one shape: `copies 0 to 1, TP4 x2`.
func copiesText(p *explain.PartExplanation) string {
	if p.Copies == 1 {
		return fmt.Sprintf("copy %d, %s", p.FirstReplica, p.Strategy)
	}
	return fmt.Sprintf("copies %d to %d, %s", p.FirstReplica, p.FirstReplica+p.Copies-1, p.Strategy)
}

func (d *decision) maxModelLen() int64 {
	if in := d.placement.Spec.Workload.Inference; in != nil {
		return int64(in.MaxModelLen)
	}
	return 0
}

func (d *decision) sequences() int64 {
	if in := d.placement.Spec.Workload.Inference; in != nil {
		return int64(max(1, in.MaxSequences))
	}
	return 0
}

// section is a part under a heading.
func section(heading string, body func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := fmt.Fprintln(w, heading); err != nil {
			return err
		}
		return body(w)
	}
}

// explainDevices prints what could be taken and what could not.
func explainDevices(w io.Writer, e *explain.Explanation) error {
	rows := make([][]string, len(e.Devices))
	for i, k := range e.Devices {
		network := ""
		if k.NetworkBytes > 0 {
			network = term.InUnits(k.NetworkBytes, "B/s")
		}
		offered := words.HumanBytes(k.OfferedBytes)
		if k.LeastBytes != k.OfferedBytes {
			offered = words.HumanBytes(k.LeastBytes) + " to " + offered
		}
		rows[i] = []string{k.Product, strconv.Itoa(k.Groups), strconv.Itoa(k.Devices), linkOf(k.Link), network, offered}
	}
	if err := term.Table(w, []string{"PRODUCT", "PLACES", "FREE IN EACH", "LINK", "NETWORK A DEVICE", "OFFERED"}, rows); err != nil {
		return err
	}
	if len(e.Refused) == 0 {
		return nil
	}
	parts := make([]string, len(e.Refused))
	for i, r := range e.Refused {
		parts[i] = fmt.Sprintf("%d %s", r.Devices, r.Reason)
	}
	_, err := fmt.Fprintf(w, "Not counted: %s.\n", strings.Join(parts, ", "))
	return err
}

func linkOf(l explain.LinkText) string {
	if l.BytesPerSecond <= 0 {
		return l.Name
	}
	return l.Name + " " + term.InUnits(l.BytesPerSecond, "B/s")
}

// explainRungs prints the precisions in the order in which they are tried.
func explainRungs(w io.Writer, rungs []explain.Rung) error {
	rows := make([][]string, len(rungs))
	for i, r := range rungs {
		weights := string(r.Weights)
		if r.Native {
			weights += ", native"
		}
		batch := "default"
		if r.Lean {
			batch = "lean"
		}
		if r.Tokens > 0 {
			batch += fmt.Sprintf(": %d tokens, %d sequences", r.Tokens, r.Sequences)
		}
		rows[i] = []string{weights, string(r.Cache), batch, r.Outcome}
	}
	return term.Table(w, []string{"WEIGHTS", "KV CACHE", "BATCH OF A STEP", "OUTCOME"}, rows)
}

// explainChoice prints the shapes that fit, and why the plan's was taken.
func explainChoice(w io.Writer, e *explain.Explanation) error {
	for _, sentence := range e.Choice {
		if _, err := fmt.Fprintln(w, sentence); err != nil {
			return err
		}
	}
	if len(e.Considered) == 0 {
		return nil
	}
	training, priced := e.Goal.Objective == "", e.Goal.Objective != v1alpha1.ObjectiveCost
	header := []string{"SHAPE", "PRODUCT", "DEVICES", strings.ToUpper(e.Goal.Measure), "TTFT", "TPOT", "TOKENS/S"}
	if priced {
		header = append(header, "USD A MILLION")
	}
	header = append(header, "VERDICT")
	if training {
		header = []string{"SHAPE", "PRODUCT", "DEVICES", "STEP", "VERDICT"}
	}
	rows := make([][]string, len(e.Considered))
	for i, c := range e.Considered {
		row := []string{c.Strategy, c.Product, strconv.Itoa(c.Devices)}
		switch {
		case !c.Known && training:
			row = append(row, "")
		case !c.Known:
			row = append(row, make([]string, len(header)-len(row)-1)...)
		case training:
			row = append(row, term.Duration(c.Step))
		default:
			row = append(row, term.Three(c.Value), term.Duration(c.TTFT), term.Duration(c.TPOT), term.Three(c.TokensPerSecond))
			if priced {
				row = append(row, priceText(c.MicroUSD))
			}
		}
		rows[i] = append(row, c.Verdict)
	}
	if err := term.Table(w, header, rows); err != nil {
		return err
	}
	if more := e.Shapes - len(e.Considered); more > 0 {
		_, err := fmt.Fprintf(w, "and %d more.\n", more)
		return err
	}
	return nil
}

// priceText is the price of a million tokens; nothing where it is not known.
func priceText(micro int64) string {
	if micro <= 0 {
		return ""
	}
	return dollars(float64(micro) / 1e6)
}
