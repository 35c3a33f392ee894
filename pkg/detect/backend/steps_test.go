package backend

import (
	"testing"

	"pgregory.net/rapid"
)

func TestUsedInSteps(t *testing.T) {
	tests := []struct {
		name              string
		used, total, want int64
	}{
		{"nothing", 0, 81559, 0},
		{"an idle driver", 1, 81559, 64},
		{"a driver that keeps some", 283, 196592, 512},
		{"just a fine step", 512, 196592, 512},
		{"most of a step of 5 %", 3000, 81559, 4077},
		{"just a step of 5 %", 4077, 81559, 4077},
		{"a MiB more", 4078, 81559, 8154},
		{"a step of a small device", 1025, 16384, 2048},
		{"all but the last step", 81550, 81559, 81559},
		{"a device smaller than a step", 300, 500, 500},
		{"more than there is", 9000, 8192, 8192},
		{"nonsense", -1, 8192, 0},
		{"no memory", 5, 0, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := UsedInSteps(tc.used, tc.total); got != tc.want {
				t.Errorf("UsedInSteps(%d, %d) = %d, want %d", tc.used, tc.total, got, tc.want)
			}
		})
	}
}

func TestFreeMemoryIsNeverOverstated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, MaxMemoryMiB).Draw(t, "total")
		used := rapid.Int64Range(0, total).Draw(t, "used")
		got := UsedInSteps(used, total)
		step := max(1024, total/20)
		if got < used || got > total || got-used >= max(step, used) && got > finestStepMiB {
			t.Fatalf("%d of %d MiB used is published as %d", used, total, got)
		}
		if again := UsedInSteps(got, total); again != got {
			t.Fatalf("%d MiB is no step: it becomes %d", got, again)
		}
	})
}
