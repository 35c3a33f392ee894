package mesh

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRanksAsText(t *testing.T) {
	tests := map[Ranks][]int32{
		"0":        {0},
		"0-7":      {0, 1, 2, 3, 4, 5, 6, 7},
		"1-5/2":    {1, 3, 5},
		"0,5":      {0, 5},
		"0-3,8-11": {0, 1, 2, 3, 8, 9, 10, 11},
		"0,2-3,9":  {0, 2, 3, 9},
	}
	for want, ranks := range tests {
		if got := RanksOf(ranks); got != want {
			t.Errorf("RanksOf(%v) = %q, want %q", ranks, got, want)
		}
		got, err := want.List(len(ranks))
		if err != nil || !slices.Equal(got, ranks) {
			t.Errorf("%q lists %v, %v", want, got, err)
		}
	}
}

func TestRanksThatAreNone(t *testing.T) {
	for text, want := range map[Ranks]string{
		"":               `"" is no rank`,
		"a":              `"a" is no rank`,
		"-1":             `"" is no rank`,
		"1048576":        "is no rank from 0 to 1048575",
		"3-1":            "use FIRST-LAST/STEP",
		"0-4/0":          "use FIRST-LAST/STEP",
		"0-5/2":          "use FIRST-LAST/STEP",
		"4/2":            "use FIRST-LAST/STEP",
		"0-3,3":          "3 does not come after 3",
		"0-1048575":      "they are more than 100",
		"0-49,50-99,100": "they are more than 100",
	} {
		if got, err := text.List(100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q lists %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestRanksReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfNDistinct(rapid.Int32Range(0, 200), 1, 60, rapid.ID[int32]).Draw(t, "ranks")
		slices.Sort(set)
		got, err := RanksOf(set).List(MaxWorldSize)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(set, got); diff != "" {
			t.Errorf("ranks (-want +got):\n%s", diff)
		}
	})
}

func FuzzRanks(f *testing.F) {
	for _, seed := range []string{"0-7", "0-9992/8", "0-3,8-11", "1,2", "0-", "/1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 1000
		ranks, err := Ranks(text).List(most)
		if err != nil {
			return
		}
		again, err := RanksOf(ranks).List(most)
		if err != nil || !slices.Equal(ranks, again) || !slices.IsSorted(ranks) || len(ranks) == 0 || len(ranks) > most {
			t.Errorf("%q lists %v, written and read again %v, %v", text, ranks, again, err)
		}
	})
}
