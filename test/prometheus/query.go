package prometheus

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

func engine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 1e7, Timeout: time.Minute, LookbackDelta: lookback})
}

// lookback is for how long a sample is what a series shows, as Prometheus' default.
const lookback = 5 * time.Minute

// Instant implements Source.
func (s *Storage) Instant(expr string, at time.Time) ([]Sample, error) {
	e := engine()
	defer func() { _ = e.Close() }()
	query, err := e.NewInstantQuery(context.Background(), s, nil, expr, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	defer query.Close()
	result := query.Exec(context.Background())
	if result.Err != nil || len(result.Warnings) > 0 {
		return nil, fmt.Errorf("%s: %w, warnings %v", expr, result.Err, result.Warnings)
	}
	var found []Sample
	switch v := result.Value.(type) {
	case promql.Vector:
		for _, one := range v {
			found = append(found, Sample{one.Metric, one.F})
		}
	case promql.Scalar:
		found = []Sample{{labels.EmptyLabels(), v.V}}
	default:
		return nil, fmt.Errorf("%s: a %T, want a vector or a scalar", expr, result.Value)
	}
	return numbers(found), nil
}

// numbers leaves out what is no number.
func numbers(found []Sample) []Sample {
	return slices.DeleteFunc(found, func(one Sample) bool { return math.IsNaN(one.Value) })
}

// Throughout says whether a query has had a value of one series at each step of a time.
func (s *Storage) Throughout(expr string, from, to time.Time, step time.Duration) (bool, error) {
	e := engine()
	defer func() { _ = e.Close() }()
	query, err := e.NewRangeQuery(context.Background(), s, nil, expr, from, to, step)
	if err != nil {
		return false, fmt.Errorf("%s: %w", expr, err)
	}
	defer query.Close()
	result := query.Exec(context.Background())
	matrix, err := result.Matrix()
	if err != nil || len(result.Warnings) > 0 {
		return false, fmt.Errorf("%s: %w, warnings %v", expr, err, result.Warnings)
	}
	for i := range matrix {
		if len(matrix[i].Floats) == int(to.Sub(from)/step)+1 {
			return true, nil
		}
	}
	return false, nil
}

// Selectors are the selectors of series in an expression.
func Selectors(expr string) ([]*parser.VectorSelector, error) {
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	var found []*parser.VectorSelector
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			found = append(found, selector)
		}
		return nil
	})
	return found, nil
}

// Alternatives are the sides of an expression between its outermost `or`.
func Alternatives(expr string) ([]string, error) {
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	return sides(parsed), nil
}

func sides(expr parser.Expr) []string {
	if binary, is := expr.(*parser.BinaryExpr); is && binary.Op == parser.LOR {
		return append(sides(binary.LHS), sides(binary.RHS)...)
	}
	return []string{expr.String()}
}
