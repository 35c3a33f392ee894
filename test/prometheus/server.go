package prometheus

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/rankwright/rankwright/test/process"
)

// Server is a Prometheus that runs, asked by its HTTP API.
type Server struct {
	api     promv1.API
	process *process.Process
}

// StartServer starts the program with a configuration, at an address of this machine (host:port), and returns when it is ready. It keeps its series and
// its log in a folder. Close ends it.
func StartServer(ctx context.Context, program, config, address, folder string) (*Server, error) {
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err != nil {
		return nil, err
	}
	child, err := process.Start(process.Spec{
		Name: "prometheus", Path: program, LogFile: filepath.Join(folder, "prometheus.log"),
		Args: []string{"--config.file=" + config, "--web.listen-address=" + address, "--storage.tsdb.path=" + filepath.Join(folder, "series")},
	})
	if err != nil {
		return nil, err
	}
	s := &Server{api: promv1.NewAPI(client), process: child}
	if err := child.Await(ctx, time.Minute, func(ctx context.Context) error { return ready(ctx, address) }); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func ready(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/-/ready", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	return nil
}

// Close ends it.
func (s *Server) Close() { s.process.Stop(10 * time.Second) }

// Instant implements Source.
func (s *Server) Instant(expr string, at time.Time) ([]Sample, error) {
	answer, warnings, infos, err := s.api.Query(context.Background(), expr, at)
	if err != nil || len(warnings)+len(infos) > 0 {
		return nil, fmt.Errorf("%s: %w, warnings %v %v", expr, err, warnings, infos)
	}
	var found []Sample
	switch v := answer.(type) {
	case model.Vector:
		for _, one := range v {
			found = append(found, Sample{labelsOf(one.Metric), float64(one.Value)})
		}
	case *model.Scalar:
		found = []Sample{{labels.EmptyLabels(), float64(v.Value)}}
	default:
		return nil, fmt.Errorf("%s: a %T, want a vector or a scalar", expr, answer)
	}
	return numbers(found), nil
}

func labelsOf(metric model.Metric) labels.Labels {
	texts := make(map[string]string, len(metric))
	for name, value := range metric {
		texts[string(name)] = string(value)
	}
	return labels.FromMap(texts)
}

// LabelValues implements Source.
func (s *Server) LabelValues(selector, label string) ([]string, error) {
	found, warnings, infos, err := s.api.LabelValues(context.Background(), label, []string{selector}, time.Time{}, time.Time{})
	if err != nil || len(warnings)+len(infos) > 0 {
		return nil, fmt.Errorf("%s of %s: %w, warnings %v %v", label, selector, err, warnings, infos)
	}
	values := make([]string, len(found))
	for i, value := range found {
		values[i] = string(value)
	}
	return values, nil
}

// Failures are what does not work of its targets and its rules, each with Prometheus' own words.
func (s *Server) Failures(ctx context.Context) (failures []string, err error) {
	targets, err := s.api.Targets(ctx)
	if err != nil {
		return nil, err
	}
	for i := range targets.Active {
		if target := &targets.Active[i]; target.Health != promv1.HealthGood {
			failures = append(failures, fmt.Sprintf("target %s is %s: %s", target.ScrapeURL, target.Health, target.LastError))
		}
	}
	if len(targets.Active) == 0 {
		failures = append(failures, "no targets")
	}
	rules, err := s.api.Rules(ctx, nil)
	if err != nil {
		return nil, err
	}
	for i := range rules.Groups {
		for _, rule := range rules.Groups[i].Rules {
			switch r := rule.(type) {
			case promv1.AlertingRule:
				failures = appendUnlessGood(failures, r.Name, r.Health, r.LastError)
			case promv1.RecordingRule:
				failures = appendUnlessGood(failures, r.Name, r.Health, r.LastError)
			}
		}
	}
	if len(rules.Groups) == 0 {
		failures = append(failures, "no rules")
	}
	return failures, nil
}

func appendUnlessGood(failures []string, rule string, health promv1.RuleHealth, last string) []string {
	if health == promv1.RuleHealthGood {
		return failures
	}
	return append(failures, fmt.Sprintf("rule %s is %s: %s", rule, health, last))
}
