package truth

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
)

// measured are the published tables, as far as a fit reads them: numbers with where they were published (measured/README.md). Whoever has this repository can
// fit the constants again, and hold estimates and plans to measurements.
//
//go:embed measured/*.csv
var measured embed.FS

// All reads every table of serving.
func All() ([]Observation, error) { return observations(serving, embedded) }

// Training reads every table of training.
func Training() ([]Observation, error) { return observations(training, embedded) }

var serving, training = []measurements{{"throughput", throughput}, {"latency", latencies}, {"mlperf", submitted}}, []measurements{{"megatron", weakScaling}, {"foundry", foundry}}

// TrainingRecipes reads published rates of training: jobs further from each other than the tables of training, of which the sources do not say all.
func TrainingRecipes() ([]Observation, error) {
	return observations([]measurements{{"recipes", recipe}}, embedded)
}

// measurements are a table: its name, and what a row of it says.
type measurements struct {
	name string
	read func(*library, record) ([]Observation, error)
}

func observations(list []measurements, records func(name string) ([]record, error)) ([]Observation, error) {
	var all []Observation
	l := newLibrary()
	for _, table := range list {
		rows, err := records(table.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table.name, err)
		}
		for i, r := range rows {
			of, err := table.read(l, r)
			if err != nil {
				return nil, fmt.Errorf("%s: row %d: %w", table.name, i+1, err)
			}
			all = append(all, of...)
		}
	}
	return all, nil
}

// record is a row of a table by the names of its columns. What a row does not say is empty.
type record map[string]string

// number is 0 where a cell is empty or none.
func (r record) number(column string) float64 {
	n, _ := strconv.ParseFloat(r[column], 64) // 0 is what no number means here
	return n
}

func (r record) whole(column string) int { return int(r.number(column)) }

// embedded reads a table that comes with the code.
func embedded(name string) ([]record, error) {
	file, err := measured.Open("measured/" + name + ".csv")
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is embedded
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	records := make([]record, len(rows)-1)
	for i, row := range rows[1:] {
		records[i] = record{}
		for j, column := range rows[0] {
			records[i][column] = row[j]
		}
	}
	return records, nil
}
