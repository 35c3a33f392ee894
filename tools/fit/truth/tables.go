package truth

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
)

// tables are a few rows of each published table, numbers with where they were published, so that whoever has no more than
// this repository can hold estimates and plans to measurements. They were chosen before looking at how well they are
// estimated: every measured shape of some loads, and one load for each other model and device.
//
//go:embed tables/*.csv
var tables embed.FS

// Tables reads the tables that come with the code.
func Tables() ([]Observation, error) {
	var all []Observation
	l := newLibrary()
	for _, table := range []struct {
		name string
		add  func(record) ([]Observation, error)
	}{
		{"throughput.csv", func(r record) ([]Observation, error) {
			o, err := r.published().observation(l)
			return []Observation{o}, err
		}},
		{"latency.csv", func(r record) ([]Observation, error) { return r.row().latencies(l) }},
		{"training.csv", func(r record) ([]Observation, error) {
			o, err := trained([11]float64{
				r.number("parameters_billions"), r.number("heads"), r.number("hidden"), r.number("layers"), r.number("tensor"),
				r.number("pipeline"), r.number("devices"), r.number("batch"), r.number("tflops_per_device"),
			})
			return []Observation{o}, err
		}},
	} {
		records, err := readTable(table.name)
		if err != nil {
			return nil, err
		}
		for i, r := range records {
			list, err := table.add(r)
			if err != nil {
				return nil, fmt.Errorf("%s: row %d: %w", table.name, i+1, err)
			}
			all = append(all, list...)
		}
	}
	return all, nil
}

// record is a row of a table by the names of its columns.
type record map[string]string

func readTable(name string) ([]record, error) {
	file, err := tables.Open("tables/" + name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is embedded
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	records := make([]record, len(rows)-1)
	for i, row := range rows[1:] {
		records[i] = record{}
		for j, column := range rows[0] {
			records[i][column] = row[j]
		}
		if records[i]["source"] == "" {
			return nil, fmt.Errorf("%s: row %d has no source", name, i+1)
		}
	}
	return records, nil
}

// number is 0 where a cell is empty or none.
func (r record) number(column string) float64 {
	n, _ := strconv.ParseFloat(r[column], 64) // 0 is what no number means here
	return n
}

func (r record) published() *published {
	whole := func(column string) int { return int(r.number(column)) }
	p := &published{
		HubID: r["model"], GPU: r["device"], Weights: r["weights"], Cache: r["cache"], Tensor: whole("tensor"), Pipeline: whole("pipeline"),
		Expert: whole("expert"), GPUs: whole("devices"), Input: whole("input"), Output: whole("output"), Requests: whole("requests"),
		TokensPerSecond: r.number("output_tokens_per_second"), Engine: r["engine"],
	}
	if r["attention_data"] != "" {
		groups := whole("attention_data")
		p.AttentionData = &groups
	}
	return p
}

func (r record) row() row {
	made := row{}
	for column, text := range r {
		made[column] = text
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			made[column] = n
		}
	}
	if r["together"] != "" {
		made["provenance"] = gapAnalysis
	}
	return made
}
