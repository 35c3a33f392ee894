package truth

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
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

// TestReleasesAreFarApart holds the spread between releases to the table that it was taken from: the same run in two releases of an engine. Builds without
// a number count as none, and candidates and repairs as the release that they are of. It also holds what the engines' rows say was measured to it.
func TestReleasesAreFarApart(t *testing.T) {
	rows, err := published(facts.ReadPacked(t, "truth/inferencex_latency.json.gz"), true)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]map[string][2][]float64{}
	for _, r := range rows {
		version := number.FindString(r["backend_version"])
		if version == "" {
			continue
		}
		e, _, err := engine.Parse(r["backend"])
		if err != nil {
			t.Fatal(err)
		}
		if !e.TimedIn(r["backend_version"]) {
			t.Errorf("%s %s was measured, and its row says that no times were", e.Name, r["backend_version"])
		}
		var words []string
		for _, column := range []string{"model", "system", "backend", "precision", "gemm_quant", "moe_quant", "isl", "osl", "concurrency", "tp", "pp", "moe_tp", "moe_ep", "gpus"} {
			words = append(words, r[column])
		}
		key := strings.Join(words, " ")
		if runs[key] == nil {
			runs[key] = map[string][2][]float64{}
		}
		of := runs[key][version]
		runs[key][version] = [2][]float64{append(of[0], math.Log(r.number("ttft_ms"))), append(of[1], math.Log(r.number("tpot_ms")))}
	}
	var apart [2][]float64
	for _, releases := range runs {
		names := slices.Collect(maps.Keys(releases))
		for i := range names {
			for j := range i {
				for k := range apart {
					apart[k] = append(apart[k], math.Expm1(math.Abs(mean(releases[names[i]][k])-mean(releases[names[j]][k]))))
				}
			}
		}
	}
	want := cost.BetweenReleases()
	for k, stated := range []float64{want.TTFT, want.TPOT} {
		if got := percentile(apart[k]); len(apart[k]) != 25 || math.Abs(got-stated) > 5e-4 {
			t.Errorf("releases are %.3f apart in %s in %d runs, and %.3f is stated", got, []string{"TTFT", "TPOT"}[k], len(apart[k]), stated)
		}
	}
}

// number is a release's: what follows its numbers is of a build.
var number = regexp.MustCompile(`^\d+(\.\d+)*`)

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// percentile is the 87th, which ranges hold, between the two nearest.
func percentile(list []float64) float64 {
	slices.Sort(list)
	at := 0.87 * float64(len(list)-1)
	low := int(at)
	return list[low] + (at-float64(low))*(list[min(low+1, len(list)-1)]-list[low])
}
