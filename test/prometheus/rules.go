package prometheus

import (
	"fmt"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"sigs.k8s.io/yaml"
)

// Rule is an alert or a recording rule.
type Rule struct {
	Alert       string            `json:"alert"`
	Record      string            `json:"record"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// ReadRules reads a rule file.
func ReadRules(path string) ([]Rule, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []Rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var rules []Rule
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules, nil
}

// Record evaluates recording rules at some time, one after the other.
func (s *Storage) Record(rules []Rule, at time.Time) error {
	for i := range rules {
		r := &rules[i]
		found, err := s.Instant(r.Expr, at)
		if err != nil {
			return fmt.Errorf("rule %s: %w", r.Record, err)
		}
		for k := range found {
			found[k].Labels = named(found[k].Labels, r.Record)
		}
		s.show("rule "+r.Record, at, found)
	}
	return nil
}

func named(of labels.Labels, name string) labels.Labels {
	builder := labels.NewBuilder(of)
	builder.Set(model.MetricNameLabel, name)
	return builder.Labels()
}
