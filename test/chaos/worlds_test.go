package chaos

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestWorldsShareTheFaults: what one takes the others have not, and no two worlds have a seed or a folder in common.
func TestWorldsShareTheFaults(t *testing.T) {
	const faults, worlds = 1000, 3
	o, seen := Options{Faults: faults, Seed: 7, Dir: "d"}, map[string]bool{}
	o.left = o.budget()
	for i := range worlds {
		world := o.world(i)
		if seen[world.Dir] || world.Seed != 7+uint64(i) {
			t.Errorf("%d has seed %d and folder %s", i, world.Seed, world.Dir)
		}
		seen[world.Dir] = true
		if left := world.left.Add(-1); left != int64(faults-1-i) {
			t.Errorf("%d faults are left after %d were taken", left, i+1)
		}
	}
}

// TestReportOfWorlds: the table is of all worlds, and a violation says of which seed it is.
func TestReportOfWorlds(t *testing.T) {
	all := newReport(Options{Seed: 7})
	for i, longest := range []time.Duration{4 * time.Second, 9 * time.Second, time.Second} {
		of := newReport(Options{Seed: 7 + uint64(i)})
		of.note("etcd killed", longest)
		of.plans, of.changes, of.took = 2, 3, longest
		if i == 1 {
			of.violate("etcd killed", "a device is in two plans")
		}
		all.add(of)
	}
	var text bytes.Buffer
	if err := all.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"etcd killed   3          1            9.0 s", "9 changes of placements, 6 plans in force", "9 s, 3 worlds from seed 7", "violation: seed 8, etcd killed: a device is in two plans",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, &text)
		}
	}
}

func TestSeededLines(t *testing.T) {
	var text bytes.Buffer
	w := world{Options: Options{Log: &text}.world(2)}
	w.logf("%4d %s", 1, "etcd killed")
	if got := text.String(); got != "2:    1 etcd killed\n" {
		t.Errorf("got %q", got)
	}
}
