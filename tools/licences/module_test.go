package licences

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/repository"
)

func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}

func realSources(t *testing.T) Sources {
	t.Helper()
	return Sources{Cache: os.DirFS(goCommand(t, "env", "GOMODCACHE")), Toolchain: os.DirFS(goCommand(t, "env", "GOROOT"))}
}

// Every module that is built or tested with, by what lies in the module cache.
func TestEveryDependencyIsAllowed(t *testing.T) {
	lines := goCommand(t, "list", "-deps", "-test", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "../../...")
	modules, err := ReadModules(lines, realSources(t))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range modules {
		found[modules[i].Path] = modules[i].Expression()
	}
	for module, want := range map[string]string{
		"k8s.io/client-go": "Apache-2.0", "golang.org/x/sys": "BSD-3-Clause", "github.com/davecgh/go-spew": "ISC",
		"pgregory.net/rapid": "MPL-2.0", "github.com/json-iterator/go": "MIT", "sigs.k8s.io/yaml": "Apache-2.0 AND BSD-3-Clause AND MIT",
	} {
		if found[module] != want {
			t.Errorf("%s: %q, want %q", module, found[module], want)
		}
	}
}

func TestReadProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rankwright-nvml")
	if err := repository.Build(t.Context(), file, "cmd/rankwright-nvml"); err != nil {
		t.Fatal(err)
	}
	program, err := ReadProgram("rankwright-nvml", file, realSources(t))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Module{}
	for _, m := range program.Modules {
		found[m.Path] = m
	}
	purego, standard := found["github.com/ebitengine/purego"], found[Standard]
	if purego.Expression() != "Apache-2.0" || !strings.HasPrefix(purego.Sum, "h1:") || len(purego.Texts) == 0 {
		t.Errorf("purego: %+v", purego)
	}
	if standard.Expression() != "BSD-3-Clause" || standard.Version != program.GoVersion || program.OS == "" || program.Arch == "" {
		t.Errorf("standard library: %+v of %+v", standard, program)
	}
	if _, err := ReadProgram("none", "module_test.go", realSources(t)); err == nil {
		t.Error("a file that is no program was read")
	}
}

func licence(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestReadModules(t *testing.T) {
	cache := fstest.MapFS{
		"example.com/!big/mod@v1.0.0/LICENSE":          licence(mit),
		"example.com/!big/mod@v1.0.0/LICENSE.docs":     licence("Creative Commons Attribution-ShareAlike 4.0"),
		"example.com/!big/mod@v1.0.0/NOTICE":           licence("made by Big"),
		"example.com/!big/mod@v1.0.0/license.go":       licence("package mod"),
		"example.com/two@v2.0.0/COPYING":               licence(bsd2),
		"example.com/two@v2.0.0/Licence.md":            licence(apache),
		"example.com/gpl@v1.0.0/LICENSE":               licence("GNU GENERAL PUBLIC LICENSE Version 2, June 1991"),
		"example.com/none@v1.0.0/README.md":            licence("none"),
		"example.com/folder@v1.0.0/LICENSES/MIT.txt":   licence(mit),
		"example.com/notice-only@v1.0.0/NOTICE":        licence(mit),
		"example.com/noticeable@v1.0.0/LICENSE":        licence(mit),
		"example.com/noticeable@v1.0.0/noticeboard.md": licence("not a notice"),
	}
	for _, test := range []struct {
		name, lines string
		want        []string
		refused     string
	}{
		{"upper case, and a notice", "example.com/Big/mod v1.0.0\n\n", []string{"MIT: LICENSE NOTICE"}, ""},
		{"two licences, listed twice", "example.com/two v2.0.0\nexample.com/two v2.0.0", []string{"Apache-2.0 AND BSD-2-Clause: COPYING Licence.md"}, ""},
		{"no notice by its name", "example.com/noticeable v1.0.0", []string{"MIT: LICENSE"}, ""},
		{"copyleft", "example.com/gpl v1.0.0", []string{": LICENSE"}, "module example.com/gpl v1.0.0, LICENSE: licence not allowed: GPL"},
		{"no licence", "example.com/none v1.0.0", []string{": "}, "module example.com/none v1.0.0: licence not allowed: it has no licence file"},
		{"a folder is no licence", "example.com/folder v1.0.0", []string{": "}, "it has no licence file"},
		{"a notice is no licence", "example.com/notice-only v1.0.0", []string{": NOTICE"}, "it has no licence file"},
		{"not downloaded", "example.com/gone v1.0.0", []string{": "}, "module example.com/gone v1.0.0"},
		{"line of another form", "example.com/two", nil, `line "example.com/two": want a module's path and version`},
	} {
		t.Run(test.name, func(t *testing.T) {
			modules, err := ReadModules(test.lines, Sources{Cache: cache})
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("got %v, want %s", err, test.refused)
			}
			var got []string
			for i := range modules {
				var names []string
				for _, text := range modules[i].Texts {
					names = append(names, text.Name)
				}
				got = append(got, modules[i].Expression()+": "+strings.Join(names, " "))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := ReadModules("example.com/gone v1.0.0", Sources{Cache: cache}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not downloaded: %v", err)
	}
}

func TestDescribeFollowsReplacements(t *testing.T) {
	program := describe("p", &debug.BuildInfo{
		GoVersion: "go1.26.0", Path: "example.com/p", Main: debug.Module{Version: "v1.0.0"},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}},
		Deps: []*debug.Module{
			{Path: "example.com/z", Version: "v1.0.0", Sum: "h1:z"},
			{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.1.0", Sum: "h1:f"}},
		},
	})
	want := Program{
		Name: "p", Version: "v1.0.0", GoVersion: "go1.26.0", OS: "linux", Arch: "arm64", Path: "example.com/p",
		Modules: []Module{
			{Path: "example.com/fork", Version: "v1.1.0", Sum: "h1:f"},
			{Path: "example.com/z", Version: "v1.0.0", Sum: "h1:z"},
			{Path: Standard, Version: "go1.26.0"},
		},
	}
	if diff := cmp.Diff(want, program); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSPDX(t *testing.T) {
	program := Program{
		Name: "p", Version: "v1.0.0", GoVersion: "go1.26.0", OS: "linux", Arch: "arm64", Path: "example.com/p",
		Modules: []Module{
			{Path: "example.com/a-b", Version: "v1.0.0", Sum: "h1:ab", Licences: []string{"Apache-2.0", "MIT"}},
			{Path: "example.com/a/b", Version: "v1.0.0", Licences: []string{"MIT"}},
			{Path: Standard, Version: "go1.26.0", Licences: []string{"BSD-3-Clause"}},
		},
	}
	encoded, err := program.SPDX([]byte("program"), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	again, err := program.SPDX([]byte("program"), time.Unix(0, 0))
	if err != nil || !bytes.Equal(encoded, again) {
		t.Errorf("differs from time to time: %v", err)
	}
	var document spdxDocument
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	checkReferences(t, &document)
	first := document.Packages[1]
	want := spdxPackage{
		Name: "example.com/a-b", ID: "SPDXRef-example.com-2fa--b", Version: "v1.0.0", Purpose: "LIBRARY", DownloadLocation: "NOASSERTION",
		Concluded: "Apache-2.0 AND MIT", Declared: "Apache-2.0 AND MIT", Copyright: "NOASSERTION", Comment: "go.sum h1:ab",
		References: []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/example.com/a-b@v1.0.0"}},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := document.Creation.Created; got != "1970-01-01T00:00:00Z" {
		t.Errorf("created %s", got)
	}
}

// spdxIdentifier is what the specification allows (SPDX 2.3, 7.2 Package SPDX identifier).
var spdxIdentifier = regexp.MustCompile(`^SPDXRef-[a-zA-Z0-9.-]+$`)

func checkReferences(t *testing.T, document *spdxDocument) {
	t.Helper()
	known := map[string]bool{document.ID: true}
	for _, p := range document.Packages {
		if known[p.ID] || !spdxIdentifier.MatchString(p.ID) {
			t.Errorf("identifier %q is not valid or not unique", p.ID)
		}
		known[p.ID] = true
	}
	related := map[string]bool{}
	for _, r := range document.Relationships {
		if !known[r.Element] || !known[r.Related] {
			t.Errorf("relationship of what is not there: %+v", r)
		}
		related[r.Related] = true
	}
	for _, p := range document.Packages {
		if !related[p.ID] {
			t.Errorf("%s is related to nothing", p.ID)
		}
	}
}

func TestReports(t *testing.T) {
	shared := Text{"LICENSE", "the text"}
	programs := []Program{
		{Modules: []Module{{Path: "b", Version: "v1", Licences: []string{"MIT"}, Texts: []Text{shared}}}},
		{Modules: []Module{
			{Path: "a", Version: "v1", Licences: []string{"MIT", "ISC"}, Texts: []Text{shared, {"NOTICE", "made by a"}}},
			{Path: "b", Version: "v1", Licences: []string{"MIT"}, Texts: []Text{shared}},
		}},
	}
	modules := Merge(programs)
	var table, notices strings.Builder
	if err := errors.Join(WriteTable(&table, modules), WriteNotices(&notices, modules)); err != nil {
		t.Fatal(err)
	}
	const wantTable = "MODULE   VERSION   LICENCE\na        v1        MIT AND ISC\nb        v1        MIT\n"
	if diff := cmp.Diff(wantTable, table.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	const line = "----------------------------------------\n\n"
	const wantNotices = "a v1 (LICENSE)\nb v1 (LICENSE)\n\nthe text\n\n" + line + "a v1 (NOTICE)\n\nmade by a\n\n" + line
	if diff := cmp.Diff(wantNotices, notices.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
