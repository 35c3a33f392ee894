// Package release makes what a release has beside the archives of goreleaser: images with their bills of materials, and the chart.
package release

import (
	"fmt"
	"regexp"
	"strings"
)

// semantic is a version as https://semver.org has it, without a leading v and without build metadata, which tags of images cannot have.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`)

// CheckVersion refuses what cannot be the version of a chart and the tag of an image.
func CheckVersion(version string) error {
	if semantic.MatchString(version) {
		return nil
	}
	return fmt.Errorf("version %q: want a semantic version without v, such as 1.2.3 or 1.2.3-rc.1", version)
}

// Unreleased says whether a version is a pre-release, as those of dry runs are.
func Unreleased(version string) bool {
	return semantic.MatchString(version) && strings.Contains(version, "-")
}
