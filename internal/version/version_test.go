package version

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	built := func(main string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: main}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	tests := []struct {
		name    string
		stamped string
		info    *debug.BuildInfo
		want    string
	}{
		{"stamped wins", "v1.2.3", built("v0.0.1"), "v1.2.3"},
		{"module version", "", built("v0.4.0"), "v0.4.0"},
		{"commit", "", built("(devel)", "vcs.revision", commit), "devel-0123456789ab"},
		{"changed tree", "", built("", "vcs.revision", commit, "vcs.modified", "true"), "devel-0123456789ab-dirty"},
		{"nothing recorded", "", built("(devel)"), "devel"},
		{"no build info", "", nil, "devel"},
		{"too long", strings.Repeat("v", 80), nil, strings.Repeat("v", 64)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := describe(tc.stamped, tc.info); got != tc.want {
				t.Errorf("describe(%q) = %q, want %q", tc.stamped, got, tc.want)
			}
		})
	}
}
