package verification

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Trouble returns the report of a pod that could not begin.
func Trouble(plan string, copied, pod int32, err error) *Report {
	return &Report{
		Version: version, Plan: plan, Copy: copied, Pod: pod, Outcome: Failed,
		Findings: []Finding{{Reason: v1alpha1.FindingGroupFailed, Text: "it could not begin: " + err.Error()}},
	}
}

// Text returns the report for people, with the names that the task has.
func (r *Report) Text(t *Task) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Mesh %s, plan %s, copy %d, pod %d: %s\n", t.Mesh, r.Plan, r.Copy, r.Pod, r.Outcome)
	if r.Library != "" {
		fmt.Fprintf(&text, "Between devices: %s\n", r.Library)
	}
	if len(r.Kinds) > 0 {
		text.WriteString("\n" + r.table())
	}
	if len(r.Findings) > 0 {
		text.WriteString("\n")
	}
	for i := range r.Findings {
		text.WriteString(r.Findings[i].line(t))
	}
	if r.More > 0 {
		fmt.Fprintf(&text, "and %d more\n", r.More)
	}
	return text.String()
}

func (r *Report) table() string {
	var text strings.Builder
	const padding = 3
	table := tabwriter.NewWriter(&text, 0, 0, padding, ' ', 0)
	_, _ = fmt.Fprintln(table, "GROUPS\tBETWEEN PODS\tWITHIN\tBUS GB/S\tPLANNED GB/S\tLATENCY\tDEVICES GB/S")
	for _, k := range r.Kinds {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", k.Kind, k.Groups, k.Inside, gigabytes(k.MBps), gigabytes(k.Planned), microseconds(k.Micros),
			gigabytes(k.DeviceMBps))
	}
	_ = table.Flush() // a builder takes everything
	return text.String()
}

func gigabytes(mbps int64) string {
	const giga, small = 1000, 100
	switch {
	case mbps == 0:
		return "-"
	case mbps < small:
		return fmt.Sprintf("%.3f", float64(mbps)/giga)
	default:
		return fmt.Sprintf("%.2f", float64(mbps)/giga)
	}
}

func microseconds(us int64) string {
	if us == 0 {
		return "-"
	}
	return fmt.Sprintf("%d us", us)
}

func (f *Finding) line(t *Task) string {
	text := string(f.Reason)
	if f.Peer != nil {
		text += fmt.Sprintf(" to pod %d", *f.Peer)
		if place, err := t.Place(*f.Peer); err == nil {
			text += fmt.Sprintf(" (node %s, ranks %s)", t.Pods[place].Node, t.Pods[place].Ranks)
		}
	}
	if len(f.Ranks) == 2 {
		text += fmt.Sprintf(", rank %d to rank %d", f.Ranks[0], f.Ranks[1])
	}
	return text + detail(f.Kind, f.MBps, f.Expected, f.Text) + "\n"
}

// detail says in which groups something showed, how fast they were, and what else there is to say.
func detail(kind string, mbps, expected int64, more string) string {
	var text string
	if kind != "" {
		text = " in " + kind
	}
	if expected > 0 {
		text += fmt.Sprintf(": %s of %s GB/s", gigabytes(mbps), gigabytes(expected))
	}
	return text + prefixed(more)
}

func prefixed(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
