package prometheus

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// Family is what a target says of a metric.
type Family struct {
	Name, Type, Help string
	// Labels are those that the target gives its series, without those of parts of a histogram.
	Labels map[string]bool
}

// Scrape stores what a target shows as text at some time. Its series get the labels of the target that they have none of themselves
// (honorLabels), and the families that it tells of are returned by name.
func (s *Storage) Scrape(text []byte, at time.Time, target map[string]string) (map[string]*Family, error) {
	var now []Sample
	families := map[string]*Family{}
	of := func(name string) *Family {
		if families[name] == nil {
			families[name] = &Family{Name: name, Labels: map[string]bool{}}
		}
		return families[name]
	}
	var last *Family
	for parser := textparse.NewPromParser(text, labels.NewSymbolTable(), false); ; {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("what %v shows: %w", target, err)
		}
		switch entry {
		case textparse.EntryHelp:
			name, help := parser.Help()
			last = of(string(name))
			last.Help = string(help)
		case textparse.EntryType:
			name, kind := parser.Type()
			last = of(string(name))
			last.Type = string(kind)
		case textparse.EntrySeries:
			_, _, v := parser.Series()
			var found labels.Labels
			parser.Labels(&found)
			found.Range(func(l labels.Label) {
				if last != nil && l.Name != model.MetricNameLabel && l.Name != "le" {
					last.Labels[l.Name] = true
				}
			})
			now = append(now, Sample{with(found, target), v})
		}
	}
	s.show(fmt.Sprint(target), at, now)
	return families, nil
}

// with adds labels that are not there.
func with(found labels.Labels, more map[string]string) labels.Labels {
	builder := labels.NewBuilder(found)
	for name, value := range more {
		if !found.Has(name) {
			builder.Set(name, value)
		}
	}
	return builder.Labels()
}
