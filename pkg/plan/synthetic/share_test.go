package synthetic_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

func TestApportion(t *testing.T) {
	tests := map[string]struct {
		nodes  int
		shares string
		want   string // numbers of nodes, or a part of the error
	}{
		"shares and the rest":  {10000, "h100x8=60% mi300x8=20% l40sx4", "[6000 2000 2000]"},
		"shares alone":         {10, "h100x8=60% mi300x8=40%", "[6 4]"},
		"largest remainder":    {10, "h100x8=33.33% mi300x8=33.33% t4x2=33.34%", "[3 3 4]"},
		"equal remainders":     {5, "h100x8=50% mi300x8=50%", "[3 2]"},
		"numbers":              {0, "h100x8=3 t4x2=2", "[3 2]"},
		"a number of a number": {5, "h100x8=3 t4x2=2", "[3 2]"},
		"number and rests":     {10, "h100x8=3 t4x2 l40sx4", "[3 4 3]"},
		"no rest left":         {10, "h100x8=100% t4x2", "[10 0]"},
		"one for all":          {7, "h100x8", "[7]"},
		"share of nothing":     {0, "h100x8=50%", "give the number of nodes"},
		"rest of nothing":      {0, "h100x8", "give the number of nodes"},
		"too much":             {10, "h100x8=60% t4x2=41%", "more than 10 nodes"},
		"too little":           {10, "h100x8=60% t4x2=39%", "less than 10 nodes"},
		"too many":             {10, "h100x8=11", "more than 10 nodes"},
		"twice":                {10, "h100x8=5 h100x8=5", "shape h100x8 is given twice"},
		"none":                 {10, "", "less than 10 nodes"},
		"nothing at all":       {0, "", "0 nodes: give from 1 to 100000"},
		"negative":             {-1, "h100x8", "-1 nodes"},
		"huge":                 {1 << 40, "h100x8", "from 1 to 100000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var shares []synthetic.Share
			for _, text := range strings.Fields(test.shares) {
				share, err := synthetic.ParseShare(text)
				if err != nil {
					t.Fatal(err)
				}
				shares = append(shares, share)
			}
			counts, err := synthetic.Apportion(test.nodes, shares)
			var got []int
			for _, c := range counts {
				got = append(got, c.Nodes)
			}
			if text := fmt.Sprint(got); text != test.want && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s, error %v, want %s", text, err, test.want)
			}
		})
	}
}

// TestSharesAreMet: no shape is a whole node away from its share, and all nodes are given out.
func TestSharesAreMet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 5000).Draw(t, "nodes")
		left := 10000
		var shares []synthetic.Share
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(synthetic.Names()), 1, 6, rapid.ID).Draw(t, "shapes") {
			percent := rapid.IntRange(0, left).Draw(t, "percent")
			left -= percent
			shares = append(shares, synthetic.Share{Shape: shape(t, name), Kind: synthetic.Relative, Percent: synthetic.Percent(percent)})
		}
		shares[0].Percent += synthetic.Percent(left)
		counts, err := synthetic.Apportion(nodes, shares)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for i, c := range counts {
			sum += c.Nodes
			if off := c.Nodes*10000 - nodes*int(shares[i].Percent); off <= -10000 || off >= 10000 {
				t.Fatalf("%d of %d nodes for %s", c.Nodes, nodes, shares[i].Percent)
			}
		}
		if sum != nodes {
			t.Fatalf("%d of %d nodes given out", sum, nodes)
		}
	})
}

func TestParseShareRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "shape \"\" is not known: use one of a100-40x8",
		"h100":                           "shape \"h100\" is not known",
		"h100x8=":                        "not a number of nodes",
		"h100x8=-1":                      "not a number of nodes",
		"h100x8=+1":                      "not a number of nodes",
		"h100x8=1e3":                     "not a number of nodes",
		"h100x8=100001":                  "from 0 to 100000",
		"h100x8=101%":                    "from 0% to 100%",
		"h100x8=-5%":                     "from 0% to 100%",
		"h100x8=1.234%":                  "at most two decimals",
		"h100x8=%":                       "not a share",
		"h100x8=.5%":                     "not a share",
		"h100x8=5.%":                     "not a share",
		"h100x8=99999999":                "from 0 to 100000",
		"h100x8=9999999999999999999999%": "not a share",
	} {
		if _, err := synthetic.ParseShare(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// FuzzParseShare: what is taken is in its bounds, and reads the same when it is written again.
func FuzzParseShare(f *testing.F) {
	for _, text := range []string{"h100x8=60%", "l40sx4", "gb200x4=18", "t4x2=0.25%", "v5ex4=100.00%", "=", "h100x8=%", "h100x8=1=2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		share, err := synthetic.ParseShare(text)
		if err != nil {
			return
		}
		again := share.Shape.Name
		switch share.Kind {
		case synthetic.Fixed:
			again += fmt.Sprintf("=%d", share.Nodes)
		case synthetic.Relative:
			again += "=" + share.Percent.String()
		}
		if share.Nodes < 0 || share.Nodes > synthetic.MaxNodes || share.Percent < 0 || share.Percent > 10000 {
			t.Errorf("%q is read as %+v", text, share)
		}
		if second, err := synthetic.ParseShare(again); err != nil || second != share {
			t.Errorf("%q is read as %+v, and %q as %+v (%v)", text, share, again, second, err)
		}
	})
}
