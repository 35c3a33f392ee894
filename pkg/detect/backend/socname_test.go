package backend

import "testing"

func TestSoCName(t *testing.T) {
	for _, test := range []struct {
		vendor  string
		machine []string
		want    string
	}{
		{"mediatek", []string{"mediatek,mt8390-evk", "mediatek,mt8390", "mediatek,mt8188"}, "mt8188"},
		{"mediatek", []string{"google,spherion", "mediatek,mt8192"}, "mt8192"},
		{"samsung", []string{"samsung, UNIVERSAL2100", "samsung,EXYNOS2100"}, "exynos2100"},
		{"samsung", []string{"google,gs101"}, ""},
		{"samsung", nil, ""},
	} {
		if got := socName(test.machine, test.vendor); got != test.want {
			t.Errorf("%v: got %q, want %q", test.machine, got, test.want)
		}
	}
}
