package chaos

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestShares: no fault is left out or injected twice, and no two worlds have a seed or a folder in common.
func TestShares(t *testing.T) {
	for _, c := range []struct{ faults, worlds int }{{1000, 1}, {1000, 3}, {1000, 5}, {2, 5}} {
		o, sum, seen := Options{Faults: c.faults, Seed: 7, Dir: "d"}, 0, map[string]bool{}
		for i := range c.worlds {
			share := o.share(i, c.worlds)
			sum += share.Faults
			if seen[share.Dir] || share.Seed != 7+uint64(i) {
				t.Errorf("%d of %d has seed %d and folder %s", i, c.worlds, share.Seed, share.Dir)
			}
			seen[share.Dir] = true
		}
		if sum != c.faults {
			t.Errorf("%d worlds share %d faults of %d", c.worlds, sum, c.faults)
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
	w := world{Options: Options{Log: &text}.share(2, 3)}
	w.logf("%4d %s", 1, "etcd killed")
	if got := text.String(); got != "2:    1 etcd killed\n" {
		t.Errorf("got %q", got)
	}
}
