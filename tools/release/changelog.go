package release

import (
	"fmt"
	"regexp"
	"strings"
)

// Change is an entry of CHANGELOG.md. The kinds are those of https://keepachangelog.com, in lower case as Artifact Hub has them.
type Change struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

var (
	versionHeading = regexp.MustCompile(`^## \[([^\]]+)\]`)
	kindHeading    = regexp.MustCompile(`^### (Added|Changed|Deprecated|Removed|Fixed|Security)$`)
)

// Section is the part of a changelog about a version, without its heading; that about what is not released where the version has none
// and is a pre-release.
func Section(changelog, version string) (string, error) {
	sections, current := map[string]string{}, ""
	for line := range strings.Lines(changelog) {
		if match := versionHeading.FindStringSubmatch(line); match != nil {
			current = match[1]
			continue
		}
		sections[current] += line
	}
	if section, found := sections[version]; found {
		return strings.TrimSpace(section), nil
	}
	if section, found := sections["Unreleased"]; found && Unreleased(version) {
		return strings.TrimSpace(section), nil
	}
	return "", fmt.Errorf("CHANGELOG.md: no section about %s: give what is under [Unreleased] the heading `## [%s] - DATE`", version, version)
}

// Changes are the entries of a section.
func Changes(section string) ([]Change, error) {
	var changes []Change
	kind := ""
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\n")
		match := kindHeading.FindStringSubmatch(line)
		entry, isEntry := strings.CutPrefix(line, "- ")
		switch {
		case match != nil:
			kind = strings.ToLower(match[1])
		case isEntry && kind == "":
			return nil, fmt.Errorf("CHANGELOG.md: %q is below no heading of a kind, such as `### Added`", line)
		case isEntry:
			changes = append(changes, Change{kind, entry})
		case strings.HasPrefix(line, "  ") && len(changes) > 0:
			changes[len(changes)-1].Description += " " + strings.TrimSpace(line)
		}
	}
	return changes, nil
}
