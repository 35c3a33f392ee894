package planning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// explain writes the sections of an explanation.
func (d *decision) explain(p *term.Page) {
	e := d.why
	section := func(heading string) {
		p.Paragraph()
		p.Line(heading)
	}
	section("1. Devices that count")
	explainDevices(p, e)
	section("2. Precision")
	explainSettings(p, e.Settings)
	section("3. Shapes")
	explainChoice(p, e)
	for i := range e.Parts {
		part := &e.Parts[i]
		whose := ""
		if len(e.Parts) > 1 {
			whose = " of " + copiesText(part)
		}
		section("4. Memory" + whose)
		explainStages(p, part.Memory, &e.Goal)
		section("5. Time" + whose)
		explainTimesOf(p, part)
		section("6. Place" + whose)
		explainPlace(p, part)
	}
}

// copiesText names copies of one shape: `copies 0 to 1, TP4 x2`.
func copiesText(p *explain.PartExplanation) string {
	if p.Copies == 1 {
		return fmt.Sprintf("copy %d, %s", p.FirstReplica, p.Strategy)
	}
	return fmt.Sprintf("copies %d to %d, %s", p.FirstReplica, p.FirstReplica+p.Copies-1, p.Strategy)
}

// explainDevices writes what could be taken and what could not.
func explainDevices(p *term.Page, e *explain.Explanation) {
	p.Table([]string{"PRODUCT", "PLACES", "FREE IN EACH", "LINK", "NETWORK A DEVICE", "OFFERED"}, term.Rows(e.Devices, func(k *explain.DeviceKind) []any {
		network, offered := "", words.HumanBytes(k.OfferedBytes)
		if k.NetworkBytes > 0 {
			network = term.InUnits(k.NetworkBytes, "B/s")
		}
		if k.LeastBytes != k.OfferedBytes {
			offered = words.HumanBytes(k.LeastBytes) + " to " + offered
		}
		return []any{k.Product, k.Groups, k.Devices, linkOf(k.Link), network, offered}
	}))
	if len(e.Refused) == 0 {
		return
	}
	parts := make([]string, len(e.Refused))
	for i, r := range e.Refused {
		parts[i] = fmt.Sprintf("%d %s", r.Devices, r.Reason)
	}
	p.Linef("Not counted: %s.", strings.Join(parts, ", "))
}

func linkOf(l explain.LinkText) string {
	if l.BytesPerSecond <= 0 {
		return l.Name
	}
	return l.Name + " " + term.InUnits(l.BytesPerSecond, "B/s")
}

// explainSettings writes the settings in the order in which they are tried.
func explainSettings(p *term.Page, settings []explain.SettingOutcome) {
	p.Table([]string{"WEIGHTS", "KV CACHE", "BATCH OF A STEP", "OUTCOME"}, term.Rows(settings, func(r *explain.SettingOutcome) []any {
		weights, batch := string(r.Weights), "default"
		if r.Native {
			weights += ", native"
		}
		if r.Made {
			weights += ", made"
		}
		if r.Lean {
			batch = "lean"
		}
		if r.Tokens > 0 {
			batch += fmt.Sprintf(": %d tokens, %d sequences", r.Tokens, r.Sequences)
		}
		return []any{weights, r.Cache, batch, r.Outcome}
	}))
}

// explainChoice writes the shapes that fit, and why the plan's was taken.
func explainChoice(p *term.Page, e *explain.Explanation) {
	for _, sentence := range e.Choice {
		p.Line(sentence)
	}
	printConsidered(p, &e.Goal, e.Considered)
	if more := e.Shapes - len(e.Considered); more > 0 && len(e.Considered) > 0 {
		p.Linef("and %d more.", more)
	}
}

// printConsidered writes shapes that fit, with what each would deliver.
func printConsidered(p *term.Page, goal *explain.Goal, shapes []explain.Considered) {
	training := goal.Objective == ""
	priced := goal.Objective != v1alpha1.ObjectiveCost && slices.ContainsFunc(shapes, func(c explain.Considered) bool { return c.MicroUSD > 0 })
	header, several := []string{"SHAPE", "DEVICES"}, severalProducts(shapes)
	if several {
		header = []string{"SHAPE", "PRODUCT", "DEVICES"}
	}
	switch {
	case training:
		header = append(header, "STEP")
	case priced:
		header = append(header, strings.ToUpper(goal.Measure), "TTFT", "TPOT", "TOKENS/S", "USD A MILLION")
	default:
		header = append(header, strings.ToUpper(goal.Measure), "TTFT", "TPOT", "TOKENS/S")
	}
	rows := term.Rows(shapes, func(c *explain.Considered) []any {
		row := []any{c.Strategy, c.Devices}
		if several {
			row = []any{c.Strategy, c.Product, c.Devices}
		}
		switch {
		case !c.Known:
			for range len(header) - len(row) {
				row = append(row, "")
			}
		case training:
			row = append(row, term.Duration(c.Step))
		default:
			row = append(row, valueText(goal, c), term.Duration(c.TTFT), term.Duration(c.TPOT), term.Three(c.TokensPerSecond))
			if priced {
				row = append(row, priceText(c.MicroUSD))
			}
		}
		return append(row, c.Verdict)
	})
	header, gap := append(header, "VERDICT"), term.TableGap
	ofDevice := strings.HasPrefix(goal.Measure, "tokens/s a device")
	if at := slices.Index(header, "TOKENS/S"); ofDevice && at >= 0 && p.Columns() < term.LineWidth { // it follows from that of a device
		header, gap = slices.Delete(header, at, at+1), term.TableGap-1
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
	}
	if len(rows) > 0 {
		p.Grid(header, rows, gap)
	}
}

// severalProducts says whether shapes are on different products.
func severalProducts(list []explain.Considered) bool {
	return slices.ContainsFunc(list, func(c explain.Considered) bool { return c.Product != list[0].Product })
}

// valueText is what a shape is compared by; nothing where that is a price that is not known.
func valueText(goal *explain.Goal, c *explain.Considered) string {
	if goal.Objective == v1alpha1.ObjectiveCost && c.Value == 0 {
		return ""
	}
	return term.Three(c.Value)
}

// priceText is the price of a million tokens; nothing where it is not known.
func priceText(micro int64) string {
	if micro <= 0 {
		return ""
	}
	return dollars(float64(micro) / 1e6)
}

// explainPlace writes where the devices are, by which rule, and what their groups send over.
func explainPlace(p *term.Page, e *explain.PartExplanation) {
	p.Line(e.Rule)
	p.Table([]string{"COPY", "DATA", "STAGE", "NODE", "TAKES", "PLACES WITH ROOM FOR IT"}, term.Rows(e.Seats, func(s *explain.Seat) []any {
		return []any{e.FirstReplica + s.Copy, s.Data, s.Stage, strings.Join(s.Nodes, ","), fmt.Sprintf("%d of %d free", s.Devices, s.Free), s.Rivals}
	}))
	p.Paragraph()
	p.Table([]string{"GROUP", "RANKS", "SLOWEST LINK", "CARRIES"}, term.Rows(e.Links, func(l *explain.GroupLink) []any {
		return []any{l.Name, l.Size, linkOf(l.Link), l.Carries}
	}))
}
