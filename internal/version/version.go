// Package version says which build of Rankwright a program is.
package version

import (
	"runtime/debug"
	"strings"
)

// version is set by release builds: -ldflags "-X github.com/rankwright/rankwright/internal/version.version=v1.2.3".
var version string

// maxLength is what status.agentVersion of an AcceleratorInventory can hold.
const maxLength = 64

// String is the version of this program: the one that the release build was stamped with, else the module version or
// commit that the Go toolchain recorded, else `devel`. It has at most 64 characters.
func String() string {
	info, _ := debug.ReadBuildInfo()
	return describe(version, info)
}

func describe(stamped string, info *debug.BuildInfo) string {
	text := stamped
	if text == "" && info != nil {
		text = recorded(info)
	}
	if text == "" {
		text = "devel"
	}
	return text[:min(len(text), maxLength)]
}

// recorded is the version that the toolchain put into the program. A pseudo-version names the commit already; a
// program built without one (`go run`, `go test`) may still carry the commit in its settings.
func recorded(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return ""
	}
	parts := []string{"devel", revision[:min(len(revision), 12)]}
	if settings["vcs.modified"] == "true" {
		parts = append(parts, "dirty")
	}
	return strings.Join(parts, "-")
}
