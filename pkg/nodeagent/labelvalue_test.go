package nodeagent

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestLabelValue(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"fits", "Hopper", "Hopper"},
		{"empty", "", ""},
		{"spaces", "NVIDIA H100 80GB HBM3", "NVIDIA-H100-80GB-HBM3"},
		{"brackets and slashes", "[AMD/ATI] Radeon (rev -- a1)", "AMD-ATI-Radeon-rev-a1"},
		{"runs collapse", "GPU  (rev -- a1)", "GPU-rev-a1"},
		{"ends are trimmed", "_.[AMD/ATI] .", "AMD-ATI"},
		{"kept characters", "6.10.5_rc-1", "6.10.5_rc-1"},
		{"other alphabets", "昇腾 910B", "910B"},
		{"nothing is left", "昇腾", "x-3c8a873e"},
		{"63 characters fit", strings.Repeat("a", 63), strings.Repeat("a", 63)},
		{"64 do not", strings.Repeat("a", 64), strings.Repeat("a", 54) + "-ffe054fe"},
		{"invalid UTF-8", "a\xffb", "a-b"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := labelValue(tc.text); got != tc.want {
				t.Errorf("labelValue(%q) = %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}

func TestLabelValueIsValidForAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9 ._/-]{0,200}`)).Draw(t, "text")
		value := labelValue(text)
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			t.Fatalf("labelValue(%q) = %q: %v", text, value, problems)
		}
		if value == "" && text != "" {
			t.Fatalf("labelValue(%q) is empty", text)
		}
		if again := labelValue(value); again != value {
			t.Fatalf("labelValue(%q) = %q, but of that %q", text, value, again)
		}
	})
}

func TestLongLabelValuesStayApart(t *testing.T) {
	long := rapid.StringMatching(`[A-Za-z0-9]{64,120}`)
	rapid.Check(t, func(t *rapid.T) {
		a := long.Draw(t, "a")
		b := rapid.OneOf(long, rapid.Map(rapid.StringMatching(`[a-z0-9]{1,3}`), func(end string) string { return a + end })).Draw(t, "b")
		if a != b && labelValue(a) == labelValue(b) {
			t.Fatalf("%q and %q both become %q", a, b, labelValue(a))
		}
	})
}
