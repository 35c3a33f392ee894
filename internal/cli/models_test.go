package cli

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/model"
)

func TestModelsListsTheCatalogue(t *testing.T) {
	list := clitest.Object[[]planning.CataloguedModel](t, ok(t, "", "models", "-o", "json"))
	if len(list) != len(model.Families()) {
		t.Fatalf("%d models, the catalogue has %d", len(list), len(model.Families()))
	}
	if !slices.IsSortedFunc(list, func(a, b planning.CataloguedModel) int { return cmp.Compare(b.Parameters, a.Parameters) }) {
		t.Error("not sorted by size, the largest first")
	}
	for _, m := range list {
		if !slices.Contains(m.Published, m.Native) || m.ActiveParameters < 1 || m.ActiveParameters > m.Parameters {
			t.Errorf("%+v", m)
		}
	}
	if table := ok(t, "", "models"); !strings.Contains(table, "\nLlama-3.1-405B ") || !strings.Contains(table, "PUBLISHED IN") {
		t.Errorf("got %s", table)
	}
}

func fitOf(t *testing.T, stdin string, args ...string) map[string]planning.FittedModel {
	t.Helper()
	fit := clitest.Object[planning.Fit](t, ok(t, stdin, append([]string{"models", "--fit", "-o", "json"}, args...)...))
	byName := map[string]planning.FittedModel{}
	for _, m := range fit.Models {
		byName[m.Name] = m
	}
	if len(byName) != len(model.Families()) {
		t.Fatalf("%d models of %d", len(byName), len(model.Families()))
	}
	return byName
}

// TestModelsFitAsPlanned: what fits is what plan gives each model on the same devices.
func TestModelsFitAsPlanned(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "hosts")
	ok(t, "", "simulate", "--shape", "l40sx4=1", "--write", folder)
	load := []string{"--max-sequences", "4", "--isl", "1000", "--osl", "500"}
	fits := fitOf(t, "", append([]string{"-f", folder}, load...)...)
	for _, name := range []string{"Llama-3.1-8B", "Llama-3.3-70B", "Mixtral-8x7B", "DeepSeek-R1"} {
		fitted := fits[name]
		r := run(t, "", append([]string{"plan", "-f", folder, "--model", name, "-o", "json"}, load...)...)
		plans, _ := plansOf(t, r.Out)
		if (len(plans) == 1) != fitted.Fits || !fitted.Fits && !strings.Contains(fitted.Reason, "does not fit: a copy needs ") {
			t.Errorf("%s: %d plans, fits %v %q", name, len(plans), fitted.Fits, fitted.Reason)
			continue
		}
		if !fitted.Fits {
			continue
		}
		if p := plans[0].Spec; p.Strategy.Summary != fitted.Strategy || p.Quantization != fitted.Quantization || *p.Estimate != *fitted.Estimate || p.Totals.Devices != fitted.DeviceCount {
			t.Errorf("%s: %+v, and plan has %s in %s", name, fitted, p.Strategy.Summary, p.Quantization)
		}
	}
}

// TestModelsFitOnSavedInventory: the devices of a recorded host, as detect prints them.
func TestModelsFitOnSavedInventory(t *testing.T) {
	saved := ok(t, "", "detect", "--replay", clitest.RecordingOf(t, "nvidia-l40s-4"), "-o", "yaml")
	fits := fitOf(t, saved, "-f", "-")
	if !fits["Llama-3.1-8B"].Fits || fits["Kimi-K2"].Fits {
		t.Errorf("%+v, %+v", fits["Llama-3.1-8B"], fits["Kimi-K2"])
	}
	table := ok(t, saved, "models", "--fit", "-f", "-", "-o", "wide")
	for _, want := range []string{"4 × NVIDIA L40S; 1 sequence at once in a copy, of at most 8192 tokens\n\nMODEL ", "DOES NOT FIT", "Kimi-K2 "} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(saved, "vendor: nvidia", "vender: nvidia", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "", "models", "--fit", "-f", file); r.Code != term.ExitFailure || !strings.Contains(r.Err, `unknown field "status.devices[0].vender"`) {
		t.Errorf("exit code %d, errors %q", r.Code, r.Err)
	}
}

// TestModelsTellsHowFarItIs: a long look at the catalogue is not silent for longer than two seconds.
func TestModelsTellsHowFarItIs(t *testing.T) {
	for step, want := range map[time.Duration]bool{time.Second: true, time.Millisecond: false} {
		var out, errs bytes.Buffer
		command := planning.NewModels(term.Streams{Out: &out, Err: &errs, Now: stepping(step)})
		command.SetArgs([]string{"--fit", "--device", "L4", "--devices", "1"})
		if err := command.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(errs.String(), " models planned\n"); told != want {
			t.Errorf("with a clock of %v a look: %q", step, errs.String())
		}
	}
}

func TestModelsRefuses(t *testing.T) {
	for command, test := range map[string]struct {
		code int
		want string
	}{
		"Llama-3.1-8B":               {term.ExitUsage, "models takes flags only: use model for one of them"},
		"--device H100":              {term.ExitUsage, "devices without --fit: add that"},
		"--isl 5":                    {term.ExitUsage, "--isl without --fit: add that"},
		"--fit --device H1000":       {term.ExitFailure, "did you mean"},
		"--fit --device L4 --isl -1": {term.ExitUsage, "--isl -1: give at least 0"},
		"--fit -f -":                 {term.ExitFailure, "no AcceleratorInventory in the files"},
	} {
		if r := run(t, "", append([]string{"models"}, strings.Fields(command)...)...); r.Code != test.code || !strings.Contains(r.Err, test.want) || r.Out != "" {
			t.Errorf("%s: exit code %d, errors %q, output %q; want %d and %q", command, r.Code, r.Err, r.Out, test.code, test.want)
		}
	}
}
