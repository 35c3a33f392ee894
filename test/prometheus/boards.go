package prometheus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Board is a dashboard of Grafana's, as far as its queries go.
type Board struct {
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		Type        string `json:"type"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Targets     []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// ReadBoards reads the dashboards of a folder; none is an error.
func ReadBoards(folder string) ([]Board, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("dashboards in %s: %v, %w", folder, files, err)
	}
	boards := make([]Board, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of the repository
		if err == nil {
			err = json.Unmarshal(text, &boards[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return boards, nil
}

// Empty is a side of a panel's query (see Alternatives), as one choice of the variables has it, that no choice has an answer to.
type Empty struct {
	Panel, Side string
}

// Source answers queries.
type Source interface {
	// Instant answers a query at some time. What is no number (NaN) is left out: there is nothing to see of it.
	Instant(expr string, at time.Time) ([]Sample, error)
	// LabelValues are the values of a label of the series that a selector finds, sorted.
	LabelValues(selector, label string) ([]string, error)
}

// Unanswered runs each query of a dashboard with each choice of its variables.
func (b *Board) Unanswered(s Source, at time.Time) ([]Empty, error) {
	choices, err := b.choices(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Title, err)
	}
	var empty []Empty
	for _, panel := range b.Panels {
		for _, target := range panel.Targets {
			sides, err := unanswered(s, target.Expr, choices, at)
			if err != nil {
				return nil, fmt.Errorf("%s: panel %q: %w", b.Title, panel.Title, err)
			}
			for _, side := range sides {
				empty = append(empty, Empty{panel.Title, side})
			}
		}
	}
	return empty, nil
}

// unanswered are the sides of an expression that have no answer with any of the choices of its variables.
func unanswered(s Source, expr string, choices []*strings.Replacer, at time.Time) ([]string, error) {
	var empty []string
	for n, choice := range choices {
		chosen := choice.Replace(expr)
		if strings.Contains(chosen, "$") {
			return nil, fmt.Errorf("nothing is known of a variable in %s", chosen)
		}
		sides, err := Alternatives(chosen)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			empty = slices.Clone(sides)
		}
		for i, side := range sides {
			if empty[i] == "" {
				continue
			}
			answer, err := s.Instant(side, at)
			if err != nil {
				return nil, err
			}
			if len(answer) > 0 {
				empty[i] = ""
			}
		}
	}
	return slices.DeleteFunc(empty, func(side string) bool { return side == "" }), nil
}

var labelValues = regexp.MustCompile(`^label_values\((.+), ([a-z]+)\)$`)

// choices are all ways to choose the variables of a dashboard, from what their own queries find.
func (b *Board) choices(s Source) ([]*strings.Replacer, error) {
	ways := [][]string{{"$__rate_interval", "5m"}}
	for _, v := range b.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		parts := labelValues.FindStringSubmatch(fmt.Sprint(v.Query))
		if parts == nil {
			return nil, fmt.Errorf("variable %s asks for %v", v.Name, v.Query)
		}
		var longer [][]string
		for _, way := range ways {
			values, err := s.LabelValues(strings.NewReplacer(way...).Replace(parts[1]), parts[2])
			if err != nil {
				return nil, fmt.Errorf("variable %s: %w", v.Name, err)
			}
			for _, value := range values {
				longer = append(longer, append(slices.Clone(way), "$"+v.Name, value))
			}
		}
		if ways = longer; len(ways) == 0 {
			return nil, fmt.Errorf("variable %s has no value", v.Name)
		}
	}
	replacers := make([]*strings.Replacer, len(ways))
	for i, way := range ways {
		replacers[i] = strings.NewReplacer(way...)
	}
	return replacers, nil
}
