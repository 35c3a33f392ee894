package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// sixRanks is a file of groups with six ranks on one host, whose ports tell them apart.
const sixRanks = `{"plan":"llm-1","hosts":["127.0.0.1","127.0.0.1","127.0.0.1","127.0.0.1","127.0.0.1","127.0.0.1"],
"groups":{"dp":[[0,2,4],[1,3,5]],"tp":[[0,1],[2,3],[4,5]],"world":[[0,1,2,3,4,5]]}}`

// pod is the environment of a pod and its mount.
func pod(t *testing.T, groups string, changes ...string) func(string) string {
	t.Helper()
	folder := t.TempDir()
	if groups != "" {
		if err := os.WriteFile(filepath.Join(folder, "copy-0.groups.json"), []byte(groups), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	variables := map[string]string{
		"RANKWRIGHT_MESH_DIR": folder, "RANKWRIGHT_PLACEMENT": "llm", "RANKWRIGHT_PLAN": "llm-1", "RANKWRIGHT_NODE": "n0",
		"RANKWRIGHT_REPLICA": "0", "RANKWRIGHT_RANKS": "0-1",
	}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		variables[name] = value
	}
	return func(name string) string { return variables[name] }
}

func key(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(strings.Repeat("k", collective.MinKeyBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Three pods add up in all their groups, and print the sums of these groups.
func TestThreePods(t *testing.T) {
	args := []string{"-key", key(t), "-mib", "1", "-rounds", "2", "-port", "29610"}
	outputs := make([]strings.Builder, 3)
	running, ctx := errgroup.WithContext(t.Context())
	for i := range outputs {
		getenv := pod(t, sixRanks, fmt.Sprintf("RANKWRIGHT_RANKS=%d-%d", 2*i, 2*i+1), fmt.Sprintf("RANKWRIGHT_NODE=n%d", i))
		running.Go(func() error { return run(ctx, args, getenv, &outputs[i]) })
	}
	if err := running.Wait(); err != nil {
		t.Fatal(err)
	}
	tensor := []string{"tp [0 1] sum 3", "tp [2 3] sum 7", "tp [4 5] sum 11"}
	data := []string{"dp [0 2 4] sum 9", "dp [1 3 5] sum 12"}
	for i := range outputs {
		lines := strings.Split(strings.TrimSpace(outputs[i].String()), "\n")
		if len(lines) != 2 {
			t.Fatalf("pod %d printed %q", i, lines)
		}
		for local, text := range lines {
			for _, want := range []string{fmt.Sprintf("rank %d on n%d: ", 2*i+local, i), tensor[i], data[local], "world [0 1 2 3 4 5] sum 21"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not say %q", text, want)
				}
			}
		}
	}
}

// A pod whose peers do not come ends at its deadline and names them.
func TestMissingPods(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), []string{"-key", key(t), "-port", "29630", "-deadline", "300ms"}, pod(t, sixRanks), &out)
	if !errors.Is(err, context.DeadlineExceeded) && (err == nil || !strings.Contains(err.Error(), "rank 2")) {
		t.Errorf("error %v, want one that names the ranks", err)
	}
}

func TestBadPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		change string
		want   string
	}{
		"not bound":       {sixRanks, "RANKWRIGHT_REPLICA=", "the pod is not bound"},
		"no ranks":        {sixRanks, "RANKWRIGHT_RANKS=", `"" is no rank`},
		"another plan":    {sixRanks, "RANKWRIGHT_PLAN=llm-2", "is of plan llm-1 and this pod of llm-2"},
		"another mesh":    {sixRanks, "RANKWRIGHT_RANKS=6", "has 6 ranks, and this pod rank 6"},
		"no file":         {"", "", "set spec.launch.launcher of the placement to groups"},
		"a spoilt file":   {"{", "", "groups: unexpected EOF"},
		"a port too high": {sixRanks, "", "would need port 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			port := "29650"
			if strings.Contains(name, "port") {
				port = "65535"
			}
			err := run(t.Context(), []string{"-key", key(t), "-port", port}, pod(t, c.groups, c.change), &strings.Builder{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	if err := run(t.Context(), []string{"-mib", "0"}, pod(t, sixRanks), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "-mib 0") {
		t.Errorf("error %v", err)
	}
}

// wrong is a group whose all-reduce leaves the buffer as it is.
type wrong struct{ collective.Group }

func (wrong) AllReduce(context.Context, []byte, collective.DType, collective.Op) error { return nil }

func TestWrongSumsAreNoticed(t *testing.T) {
	local, err := collective.Local(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range local {
		t.Cleanup(func() { _ = c.Close() })
	}
	work := task{bytes: 64, rounds: 1, now: time.Now}
	if _, err := work.sum(t.Context(), wrong{local[0].World()}, 0); err == nil || !strings.Contains(err.Error(), "element 0 is 1, and its sum 3") {
		t.Errorf("error %v", err)
	}
}
