package dra

import (
	"regexp"
	"testing"
)

// strict is what semver.org gives for versions without a pre-release.
var strict = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"580.95.05":      "580.95.5",
		"9.0":            "9.0.0",
		"12":             "12.0.0",
		"v1.19.0":        "1.19.0",
		"2.19.64.0":      "2.19.64+0",
		"2.19.64.0-dkms": "2.19.64+0-dkms",
		"6.8.0-51_gcp":   "6.8.0+51.gcp",
		"1.2.3...":       "1.2.3",
		"":               "",
		"gfx942":         "",
		"N/A":            "",
	} {
		if got := semantic(text); got != want || got != "" && !strict.MatchString(got) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Whatever a driver says of its version, the API server takes what is made of it.
func FuzzVersions(f *testing.F) {
	for _, text := range []string{"580.95.05", "1..2", "1.2.3+-", "00.0.0", "3.é", "99999999999999999999999.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := semantic(text); got != "" && !strict.MatchString(got) {
			t.Errorf("%q is %q", text, got)
		}
	})
}
