package dra

import (
	"cmp"
	"regexp"
	"strings"
)

// numbers are what a version of a driver begins with: `580.95.05`, `9.0`, `2.19.64.0-dkms`.
var numbers = regexp.MustCompile(`^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(.*)$`)

// notInBuild is what the build of a version cannot have.
var notInBuild = regexp.MustCompile(`[^0-9A-Za-z-]+`)

// semantic writes a version as semver.org has it, which resource.k8s.io/v1 demands: three numbers without zeros before them
// (`580.95.5`). What else the text has follows as the build (`2.19.64+0-dkms`): it tells two versions apart and orders none.
// It is empty for what does not begin with a number.
func semantic(text string) string {
	found := numbers.FindStringSubmatch(strings.TrimSpace(text))
	if found == nil {
		return ""
	}
	var parts [3]string
	for i := range parts {
		parts[i] = cmp.Or(strings.TrimLeft(found[i+1], "0"), "0")
	}
	version := strings.Join(parts[:], ".")
	if build := strings.Trim(notInBuild.ReplaceAllString(found[4], "."), ".-"); build != "" {
		version += "+" + build
	}
	return version
}
