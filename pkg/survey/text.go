package survey

import (
	"cmp"
	"fmt"
	"io"
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
	s.Platform.write(&text)
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
		none := true
		for _, d := range s.Differences {
			if d.View == v.Name {
				fmt.Fprintf(text, "  %s\n", d)
				none = false
			}
		}
		if none {
			text.WriteString("  nothing\n")
		}
	}
}

func deviceLine(d *v1alpha1.Device) string {
	memory := "memory not known"
	if d.Memory != nil {
		memory = fmt.Sprintf("%d MiB (%s)", d.Memory.TotalMiB, d.Memory.Source)
	}
	health := strings.TrimSpace(string(d.Health.State) + " " + d.Health.Reason)
	return fmt.Sprintf("%s  %s  %s  %s", d.ID, cmp.Or(d.Product, "product not known"), memory, health)
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

func (p *Platform) write(text *strings.Builder) {
	heading(text, "PCI functions with a link, and the bridges above them")
	for _, f := range p.Functions {
		line := fmt.Sprintf("%s%s %s %s", strings.Repeat("  ", f.Depth), f.Address, strings.TrimPrefix(f.Class, "0x"), f.IDs)
		for _, part := range []struct{ name, value string }{
			{"link", f.Link}, {"of", f.mostIfMore()}, {"node", f.NUMANode}, {"driver", f.Driver}, {"iommu group", f.IOMMUGroup},
		} {
			if part.value != "" {
				line += ", " + part.name + " " + part.value
			}
		}
		text.WriteString(line + "\n")
	}
	heading(text, "Device nodes: mode, user:group, major:minor")
	for _, n := range p.Nodes {
		text.WriteString(n.String() + "\n")
	}
	heading(text, "Settings")
	for _, f := range p.Facts {
		if strings.Contains(f.Value, "\n") {
			fmt.Fprintf(text, "%s:\n%s", f.Name, indented(f.Value))
		} else {
			fmt.Fprintf(text, "%s: %s\n", f.Name, f.Value)
		}
	}
	for _, list := range [][]Text{p.Configurations, p.Specifications} {
		for _, file := range list {
			heading(text, "%s", file.Path)
			text.WriteString(indented(file.Content))
		}
	}
}

// mostIfMore is what the link could have where it has less.
func (f Function) mostIfMore() string {
	if f.Link == f.Most {
		return ""
	}
	return f.Most
}

func indented(content string) string {
	content = strings.TrimRight(content, "\n")
	if content == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(content, "\n", "\n    ") + "\n"
}
