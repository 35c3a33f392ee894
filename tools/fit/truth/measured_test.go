package truth

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
)

// TestMeasuredIsPublished holds the tables that come with the code to the published ones that they were made of, where these are there: the same observations in the same order,
// since a fit depends on both.
func TestMeasuredIsPublished(t *testing.T) {
	files := map[string]string{
		"throughput": "trtllm_throughput.json", "latency": "inferencex_latency.json.gz", "mlperf": "mlperf_v5_1_llm.json", "megatron": "megatron_weak_scaling.json", "foundry": "llm_foundry_training.json",
	}
	for what, tables := range map[string][]measurements{"serving": serving, "training": training} {
		got, err := observations(tables, embedded)
		if err != nil {
			t.Fatal(err)
		}
		want, err := observations(tables, func(name string) ([]record, error) {
			return published(facts.ReadPacked(t, "truth/"+files[name]), strings.HasSuffix(files[name], ".gz"))
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || len(got) < 80 {
			t.Fatalf("%s: %d observations, %d are published", what, len(got), len(want))
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s: observation %d is %+v, published is %+v", what, i, got[i], want[i])
			}
		}
	}
}

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

// published reads a table of JSON, packed or not, whose rows are objects, or values in the order of its columns.
func published(data []byte, packed bool) ([]record, error) {
	var content io.Reader = bytes.NewReader(data)
	if packed {
		var err error
		if content, err = gzip.NewReader(content); err != nil {
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
