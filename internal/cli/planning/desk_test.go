package planning

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/cli/term"
)

// desk is that of two simulated nodes, and what plan would read of them.
func desk(t *testing.T) (*Desk, *Manifests) {
	t.Helper()
	m := &Manifests{}
	if err := m.Simulate([]string{"h100x8=2"}, "0%"); err != nil {
		t.Fatal(err)
	}
	return NewDesk(m.Snapshot(), m.Inventories, nil, nil, term.Streams{}), m
}

// TestAsk gives what plan gives for the same flags.
func TestAsk(t *testing.T) {
	d, m := desk(t)
	asked := url.Values{"model": {"Llama-3.1-70B"}, "isl": {"2000"}, "osl": {"500"}, "objective": {"Latency"}}
	got, err := d.Ask(asked)
	if err != nil {
		t.Fatal(err)
	}
	flags, changed, err := parseQuestion(asked)
	if err != nil {
		t.Fatal(err)
	}
	want, err := flags.manifests(term.Streams{}, changed)
	if err != nil {
		t.Fatal(err)
	}
	m.Placements, m.model = want.Placements, want.model
	planned, err := planAll(m, term.Streams{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(planned[0].plan, got.Plan); diff != "" {
		t.Errorf("plan (-plan +question):\n%s", diff)
	}
	if diff := cmp.Diff(planned[0].mesh, got.Mesh); diff != "" {
		t.Errorf("mesh (-plan +question):\n%s", diff)
	}
	if text := CommandOf(asked); text != "kubectl rankwright plan -f FILE --model Llama-3.1-70B --isl 2000 --osl 500 --objective Latency" {
		t.Errorf("the command is %s", text)
	}
}

func TestAskedInVain(t *testing.T) {
	d, _ := desk(t)
	got, err := d.Ask(url.Values{"model": {"DeepSeek-V3"}, "quantization": {"BF16"}, "replicas": {"4"}})
	if err != nil || got.Plan != nil || got.Placement.Status.Shortfall == nil {
		t.Errorf("a model that is too large: %+v, %v", got, err)
	}
	for want, asked := range map[string]url.Values{
		"use model, replicas":    {"model-file": {"/etc/passwd"}, "model": {"7B"}},
		"a file here cannot be":  {"model": {"/tmp/config.json"}},
		"passwd":                 {"model": {"/etc/passwd"}},
		"--isl -1":               {"model": {"7B"}, "isl": {"-1"}},
		"invalid argument":       {"model": {"7B"}, "osl": {"many"}},
		"--objective Speed: use": {"model": {"7B"}, "objective": {"Speed"}},
	} {
		if _, err := d.Ask(asked); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", asked, err, want)
		}
	}
}

// TestState plans the placements that have no plan in the files, and keeps the others as they are.
func TestState(t *testing.T) {
	_, m := desk(t)
	first, err := ReadManifests([]string{"../../../examples/tensor.yaml"}, term.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	m.Placements = first.Placements
	s, err := m.State(term.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Plans) != 1 || len(s.Meshes) != 1 || !s.Plans[0].InForce() || s.Placements[0].Status.Plan != s.Plans[0].Name {
		t.Fatalf("%d plans and %d meshes, the placement's is %q", len(s.Plans), len(s.Meshes), s.Placements[0].Status.Plan)
	}
	m.Plans, m.Meshes = s.Plans, s.Meshes
	again, err := m.State(term.Streams{})
	if err != nil || len(again.Plans) != 1 || len(again.Placements) != 1 {
		t.Errorf("with its plan in the files there are %d plans: %v", len(again.Plans), err)
	}
}

// TestSavedUtilization: the Leases of agents in files say how busy devices were.
func TestSavedUtilization(t *testing.T) {
	file := filepath.Join(t.TempDir(), "saved.yaml")
	const leases = `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a","annotations":{"rankwright.dev/utilization":"said"}}},
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"b"}}]}`
	if err := os.WriteFile(file, []byte(leases), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadManifests([]string{file}, term.Streams{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.State(term.Streams{})
	if err != nil || len(s.Utilization) != 1 || s.Utilization["a"] != "said" {
		t.Errorf("utilization %v, %v", s.Utilization, err)
	}
}
