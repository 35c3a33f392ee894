package survey

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Write prints the survey for people: the sheet first, then what it is drawn from.
func (s *Survey) Write(w io.Writer) error {
	var text strings.Builder
	s.writeSheet(&text)
	s.writeViews(&text)
	s.writeMeasurements(&text)
	s.writePods(&text)
	s.platform.write(&text)
	_, err := io.WriteString(w, text.String())
	return err
}

func heading(text *strings.Builder, format string, args ...any) {
	fmt.Fprintf(text, "\n## %s\n\n", fmt.Sprintf(format, args...))
}

func (s *Survey) writeSheet(text *strings.Builder) {
	text.WriteString("# What is expected, and what was found\n\n" +
		"[x] is as expected, [!] is not; tick [ ] yourself where it is true.\n\n")
	for _, c := range s.Sheet() {
		fmt.Fprintf(text, "[%s] %s:\n    %s\n", c.Verdict, c.Expected, c.Found)
	}
}

func (s *Survey) writeViews(text *strings.Builder) {
	for i := range s.Views {
		v := &s.Views[i]
		heading(text, "View %s: %s", v.Name, words.Counted(v.Status.Summary.Devices, "device"))
		for j := range v.Status.Devices {
			text.WriteString(deviceLine(&v.Status.Devices[j]) + "\n")
		}
		for _, b := range v.Status.Backends {
			if b.State != v1alpha1.BackendAbsent && b.Message != "" {
				fmt.Fprintf(text, "backend %s %s: %s\n", b.Name, b.State, oneLine(b.Message))
			}
		}
		if i == 0 {
			continue
		}
		fmt.Fprintf(text, "\nDifferent from %s:\n", s.Views[0].Name)
		for _, d := range v.differences {
			fmt.Fprintf(text, "  %s\n", d)
		}
		if len(v.differences) == 0 {
			text.WriteString("  nothing\n")
		}
	}
}

func deviceLine(d *v1alpha1.Device) string {
	memory := "memory not known"
	if d.Memory != nil {
		memory = fmt.Sprintf("%d MiB (%s)", d.Memory.TotalMiB, d.Memory.Source)
	}
	return fmt.Sprintf("%s  %s  %s  %s", d.ID, cmp.Or(d.Product, "product not known"), memory, healthText(d))
}

func (s *Survey) writeMeasurements(text *strings.Builder) {
	for i := range s.Views {
		m := s.Views[i].Measured
		if m == nil {
			continue
		}
		heading(text, "Measured in view %s", s.Views[i].Name)
		fmt.Fprintf(text, "detections: %s ms; most memory resident: %d KiB, largest tool %d KiB\n",
			strings.Trim(fmt.Sprint(m.RunMillis), "[]"), m.PeakKiB, m.ToolPeakKiB)
		for _, t := range m.Tools {
			fmt.Fprintf(text, "detection %d: %6d ms  %s  %s\n", t.Run, t.Millis, t.Command, t.Failed)
		}
		for _, p := range m.Agents {
			fmt.Fprintf(text, "running: %s, %d KiB resident, %d KiB at most\n", p.Name, p.ResidentKiB, p.PeakKiB)
		}
	}
}

func (s *Survey) writePods(text *strings.Builder) {
	for i := range s.Pods {
		p := &s.Pods[i]
		heading(text, "Pod %s (%s): %s", p.Name, p.Asked, strings.TrimSpace(p.Phase+" "+p.Reason))
		text.WriteString(indented(p.Output))
	}
}

func (p *platform) write(text *strings.Builder) {
	heading(text, "PCI functions with a link, and the bridges above them")
	for _, f := range p.functions {
		line := fmt.Sprintf("%s%s %s %s", strings.Repeat("  ", len(f.Bridges)), f.Address, f.Class, f.VendorID+":"+f.DeviceID)
		for _, part := range []struct{ name, value string }{
			{"link", f.link}, {"of", f.mostIfMore()}, {"node", f.node}, {"driver", f.driver}, {"iommu group", f.group},
		} {
			if part.value != "" {
				line += ", " + part.name + " " + part.value
			}
		}
		text.WriteString(line + "\n")
	}
	heading(text, "Device nodes: mode, user:group, major:minor")
	for _, n := range p.nodes {
		text.WriteString(n.String() + "\n")
	}
	heading(text, "Settings")
	for _, s := range p.settings {
		if strings.Contains(s.content, "\n") {
			fmt.Fprintf(text, "%s:\n%s", s.name, indented(s.content))
		} else {
			fmt.Fprintf(text, "%s: %s\n", s.name, s.content)
		}
	}
	for _, file := range slices.Concat(p.configurations, p.specifications) {
		heading(text, "%s", file.name)
		text.WriteString(indented(file.content))
	}
}

// mostIfMore is what the link could have where it has less.
func (f function) mostIfMore() string {
	if f.link == f.most {
		return ""
	}
	return f.most
}

func indented(content string) string {
	content = strings.TrimRight(content, "\n")
	if content == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(content, "\n", "\n    ") + "\n"
}
