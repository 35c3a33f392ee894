package amd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseKFDProperties(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want kfdProperties
	}{
		"as the kernel writes it": {"simd_count 416\nhive_id 12609507387757274807\n", kfdProperties{"simd_count": 416, "hive_id": 12609507387757274807}},
		"no newline at the end":   {"simd_count 416", kfdProperties{"simd_count": 416}},
		"empty":                   {"", kfdProperties{}},
		"a text is passed over":   {"name Aldebaran\nsimd_count 8\n", kfdProperties{"simd_count": 8}},
		"negative":                {"simd_count -1\n", kfdProperties{}},
		"larger than 64 bits":     {"simd_count 18446744073709551616\n", kfdProperties{}},
		"three fields":            {"simd_count 4 16\n", kfdProperties{}},
		"the last one counts":     {"simd_count 4\nsimd_count 8\n", kfdProperties{"simd_count": 8}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parseKFDProperties([]byte(test.text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseKFDProperties(f *testing.F) {
	f.Add("cpu_cores_count 0\nsimd_count 416\nlocation_id 25344\ndomain 0\ndrm_render_minor 128\n")
	f.Add("type 11\nversion_major 0\nnode_from 2\nnode_to 3\nweight 15\nmax_bandwidth 50000\n")
	f.Add("simd_count 18446744073709551616\n\x00 1\n \n")
	f.Fuzz(func(t *testing.T, text string) {
		properties := parseKFDProperties([]byte(text))
		if lines := strings.Count(text, "\n") + 1; len(properties) > lines {
			t.Errorf("%d properties in %d lines", len(properties), lines)
		}
		for name := range properties {
			if !strings.Contains(text, name) || len(strings.Fields(name)) != 1 {
				t.Errorf("property %q is no word of the text", name)
			}
		}
		if diff := cmp.Diff(properties, parseKFDProperties([]byte(text+"\n"+text))); diff != "" {
			t.Errorf("reading the text twice changes it: %s", diff)
		}
	})
}

func TestKFDComputeUnits(t *testing.T) {
	for text, want := range map[string]int32{
		"simd_count 1216\nsimd_per_cu 4\n":                 304,
		"simd_count 192\nsimd_per_cu 2\n":                  96,
		"simd_count 1216\n":                                0,
		"simd_count 18446744073709551615\nsimd_per_cu 1\n": maxUnits,
		"simd_count 0\nsimd_per_cu 0\n":                    0,
	} {
		node := kfdNode{properties: parseKFDProperties([]byte(text))}
		if got := node.computeUnits(); got != want {
			t.Errorf("%q: %d compute units, want %d", text, got, want)
		}
	}
}
