package install

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Match says how near the version of a program that is there already has to be to the pinned one.
type Match int

const (
	// Exact takes the pinned version alone.
	Exact Match = iota
	// Minor takes another patch of the same minor version.
	Minor
)

var versionInText = regexp.MustCompile(`\bv?(\d+\.\d+)\.\d+[0-9A-Za-z.+-]*`)

// Matches says whether what a program printed of its version, first, is near enough to a version.
func (m Match) Matches(printed, version string) bool {
	found, wanted := versionInText.FindStringSubmatch(printed), versionInText.FindStringSubmatch(version)
	if found == nil || wanted == nil {
		return false
	}
	return strings.TrimPrefix(found[0], "v") == strings.TrimPrefix(wanted[0], "v") || m == Minor && found[1] == wanted[1]
}

// Present looks for a tool that is there already: in the folders, of which the first that has a program of its name and a version that is near
// enough counts. The function runs a program and returns what it prints.
func (t *Tool) Present(folders []string, near Match, run func(path string, args []string) (string, error)) (path, printed string) {
	if t.Ask == nil {
		return "", ""
	}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		path := filepath.Join(folder, t.Name)
		printed, err := run(path, t.Ask)
		if err == nil && near.Matches(printed, t.Version) {
			return path, versionInText.FindString(printed)
		}
	}
	return "", ""
}
