package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/internal/repository"
)

const changelog = `# Changelog

## [Unreleased]

### Added

- Something
  on two lines.
- More.

### Fixed

- A fault.

## [1.0.0] - 2026-01-01

### Security

- A hole.
`

func TestSection(t *testing.T) {
	for _, test := range []struct {
		version string
		want    []Change
		refused string
	}{
		{version: "1.0.0", want: []Change{{"security", "A hole."}}},
		{version: "1.1.0-snapshot.gabc", want: []Change{{"added", "Something on two lines."}, {"added", "More."}, {"fixed", "A fault."}}},
		{version: "1.1.0", refused: "no section about 1.1.0: give what is under [Unreleased] the heading `## [1.1.0] - DATE`"},
	} {
		section, err := Section(changelog, test.version)
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: error %v, want %q", test.version, err, test.refused)
			}
			continue
		}
		changes, problem := Changes(section)
		if err != nil || problem != nil {
			t.Errorf("%s: %v, %v", test.version, err, problem)
		}
		if diff := cmp.Diff(test.want, changes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.version, diff)
		}
	}
	if _, err := Changes("- an entry"); err == nil {
		t.Error("an entry below no kind is accepted")
	}
}

func TestCheckVersion(t *testing.T) {
	for version, good := range map[string]bool{
		"1.2.3": true, "0.1.0-snapshot.g0123456789ab": true, "1.0.0-rc.1": true, "v1.2.3": false, "1.2": false, "1.2.3+build": false, "01.2.3": false,
		"1.2.3-": false, "1.2.3-01": false,
	} {
		if err := CheckVersion(version); (err == nil) != good {
			t.Errorf("%s: %v", version, err)
		}
	}
	if Unreleased("1.2.3") || !Unreleased("1.2.3-rc.1") {
		t.Error("a pre-release is told by its version")
	}
}

// The repository's chart and changelog give a chart that names its version, images and changes, and has all that it had.
func TestStageChart(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	source, out := filepath.Join(root, "charts", "rankwright"), filepath.Join(t.TempDir(), "rankwright")
	const version = "9.8.7-rc.1"
	if err := StageChart(source, out, version, changelog); err != nil {
		t.Fatal(err)
	}
	before, after := chartOf(t, source), chartOf(t, out)
	if after["version"] != version || after["appVersion"] != version {
		t.Errorf("version %s of %s, want %s", after["version"], after["appVersion"], version)
	}
	added := map[string]string{}
	had, _ := before["annotations"].(map[string]any)
	has, _ := after["annotations"].(map[string]any)
	for name, value := range has {
		if had[name] == nil {
			added[name], _ = value.(string)
		} else if diff := cmp.Diff(had[name], value); diff != "" {
			t.Errorf("%s changed:\n%s", name, diff)
		}
	}
	want := map[string]string{
		"artifacthub.io/prerelease": "true",
		"artifacthub.io/images": "- image: ghcr.io/rankwright/node-agent:9.8.7-rc.1\n  name: node-agent\n" +
			"- image: ghcr.io/rankwright/node-helper:9.8.7-rc.1\n  name: node-helper\n- image: ghcr.io/rankwright/operator:9.8.7-rc.1\n  name: operator\n",
		"artifacthub.io/changes": "- description: Something on two lines.\n  kind: added\n- description: More.\n  kind: added\n- description: A fault.\n  kind: fixed\n",
	}
	if diff := cmp.Diff(want, added); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(out, "templates", "rbac.yaml")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"annotations", "version", "appVersion"} {
		delete(before, name)
		delete(after, name)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the rest (-before +after):\n%s", diff)
	}
}

func chartOf(t *testing.T, folder string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	chart := map[string]any{}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	return chart
}

// Makefile, Dockerfile, goreleaser and the images of a release build programs with the same flags.
func TestFlagsAgree(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`" ?\+ ?versionVariable ?\+ ?"`)
	stamp := regexp.MustCompile(`-s -w -X github\.com/rankwright/rankwright/internal/version\.version=`)
	for name, want := range map[string][]string{
		"Makefile":                 {"TAGS = grpcnotrace", "-extldflags=-Wl,-z,lazy", "-tags netgo,osusergo", "-s -w -linkmode external -extldflags '-static -Wl,-z,lazy'"},
		"Dockerfile":               {"-tags grpcnotrace", "-extldflags=-Wl,-z,lazy", "-tags netgo,osusergo", "-s -w -linkmode external -extldflags '-static -Wl,-z,lazy'"},
		".goreleaser.yaml":         {"tags: [grpcnotrace]", "flags: [-trimpath]", "CGO_ENABLED=0"},
		"tools/images/programs.go": {"-extldflags=-Wl,-z,lazy", `"netgo,osusergo"`, "-s -w -linkmode external -extldflags '-static -Wl,-z,lazy'"},
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		content := variable.ReplaceAllString(string(text), "github.com/rankwright/rankwright/internal/version.version")
		if !stamp.MatchString(content) {
			t.Errorf("%s: no stamp of the version", name)
		}
		for _, flags := range want {
			if !strings.Contains(content, flags) {
				t.Errorf("%s: no %s", name, flags)
			}
		}
	}
}
