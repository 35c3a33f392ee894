package truth

import (
	"compress/gzip"
	"embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tables are a few rows of each published table, numbers with where they were published, so that whoever has no more than
// this repository can hold estimates and plans to measurements. They were chosen before looking at how well they are
// estimated: every measured shape of some loads, and one load for each other model and device.
//
//go:embed tables/*.csv
var tables embed.FS

// All reads every table of serving of a folder.
func All(folder string) ([]Observation, error) {
	return observations([]measurements{
		{"trtllm_throughput.json", throughput},
		{"inferencex_latency.json.gz", latencies},
		{"mlperf_v5_1_llm.json", submitted},
	}, func(name string) ([]record, error) { return published(filepath.Join(folder, name)) })
}

// Training reads every table of training of a folder.
func Training(folder string) ([]Observation, error) {
	return observations([]measurements{
		{"megatron_weak_scaling.json", weakScaling},
		{"llm_foundry_training.json", foundry},
	}, func(name string) ([]record, error) { return published(filepath.Join(folder, name)) })
}

// Tables reads the tables of serving that come with the code, and TrainingTables those of training.
func Tables() ([]Observation, error) {
	return observations([]measurements{{"throughput.csv", throughput}, {"latency.csv", latencies}}, embedded)
}

// TrainingTables reads the tables of training that come with the code.
func TrainingTables() ([]Observation, error) {
	return observations([]measurements{{"training.csv", weakScaling}, {"fsdp.csv", foundry}}, embedded)
}

// TrainingRecipes reads published rates of training that nothing is fitted to: jobs further from each other than the tables of training,
// of which the sources do not say all.
func TrainingRecipes() ([]Observation, error) {
	return observations([]measurements{{"recipes.csv", recipe}}, embedded)
}

// measurements are a table: the name of its file, and what a row of it says.
type measurements struct {
	file string
	read func(*library, record) ([]Observation, error)
}

func observations(list []measurements, records func(file string) ([]record, error)) ([]Observation, error) {
	var all []Observation
	l := newLibrary()
	for _, table := range list {
		rows, err := records(table.file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table.file, err)
		}
		for i, r := range rows {
			of, err := table.read(l, r)
			if err != nil {
				return nil, fmt.Errorf("%s: row %d: %w", table.file, i+1, err)
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

// set adds a value of JSON; those in an object have its column and a point before their names.
func (r record) set(column string, value any) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for name, inner := range value {
			r.set(strings.TrimPrefix(column+"."+name, "."), inner)
		}
	default:
		r[column] = fmt.Sprint(value)
	}
}

// published reads a file of JSON, packed or not, whose rows are objects, or values in the order of its columns.
func published(path string) ([]record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var content io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if content, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	}
	var table struct {
		Columns []string
		Rows    []any
	}
	if err := json.NewDecoder(content).Decode(&table); err != nil {
		return nil, err
	}
	records := make([]record, len(table.Rows))
	for i, row := range table.Rows {
		records[i] = record{}
		values, listed := row.([]any)
		if !listed {
			records[i].set("", row)
		}
		for j, value := range values {
			records[i].set(table.Columns[j], value)
		}
	}
	return records, nil
}

// embedded reads a table that comes with the code.
func embedded(name string) ([]record, error) {
	file, err := tables.Open("tables/" + name)
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
		if records[i]["source"] == "" {
			return nil, fmt.Errorf("row %d has no source", i+1)
		}
	}
	return records, nil
}
