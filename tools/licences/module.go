package licences

import (
	"cmp"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// Module is a module with its licences.
type Module struct {
	Path, Version string
	// Sum is the go.sum hash (`h1:…`); empty for the standard library and where it is not known.
	Sum string
	// Licences are SPDX identifiers, sorted.
	Licences []string
	// Texts are the files that must go with a copy of the program, by name: licences, notices, patent grants.
	Texts []Text
}

// Text is a file of a module's root.
type Text struct{ Name, Content string }

// Expression is the SPDX expression: all of the licences apply.
func (m *Module) Expression() string { return strings.Join(m.Licences, " AND ") }

// Program is a built program with its modules, in order of their paths.
type Program struct {
	Name, Version, GoVersion, OS, Arch string
	// Path is the import path of the main package.
	Path    string
	Modules []Module
}

// Sources are where licences are read.
type Sources struct {
	// Cache is the module cache (GOMODCACHE), Toolchain the root of the Go toolchain (GOROOT).
	Cache, Toolchain fs.FS
}

// Standard is the name under which the standard library is listed.
const Standard = "std"

// ReadProgram reads what the toolchain recorded in a program (`go version -m`), and the licences of its modules. Its error
// names every module that is not allowed.
func ReadProgram(name, file string, sources Sources) (Program, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return Program{}, fmt.Errorf("program %s: %w", name, err)
	}
	program := describe(name, info)
	var problems []error
	for i := range program.Modules {
		problems = append(problems, program.Modules[i].read(sources))
	}
	return program, errors.Join(problems...)
}

func describe(name string, info *debug.BuildInfo) Program {
	program := Program{Name: name, Version: info.Main.Version, GoVersion: info.GoVersion, Path: info.Path}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			program.OS = s.Value
		case "GOARCH":
			program.Arch = s.Value
		}
	}
	program.Modules = []Module{{Path: Standard, Version: info.GoVersion}}
	for _, dependency := range info.Deps {
		module := dependency
		if module.Replace != nil {
			module = module.Replace
		}
		program.Modules = append(program.Modules, Module{Path: module.Path, Version: module.Version, Sum: module.Sum})
	}
	slices.SortFunc(program.Modules, func(a, b Module) int { return cmp.Compare(a.Path, b.Path) })
	return program
}

// ReadModules reads the licences of modules given as lines of path and version, as `go list` prints them; empty lines
// and repetitions are passed over.
func ReadModules(lines string, sources Sources) ([]Module, error) {
	var modules []Module
	var problems []error
	unique := slices.Compact(slices.Sorted(strings.Lines(strings.TrimSpace(lines) + "\n")))
	for _, line := range unique {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			problems = append(problems, fmt.Errorf("line %q: want a module's path and version", strings.TrimSpace(line)))
			continue
		}
		module := Module{Path: fields[0], Version: fields[1]}
		problems = append(problems, module.read(sources))
		modules = append(modules, module)
	}
	return modules, errors.Join(problems...)
}

// licenceFile matches files with a licence of the code; LICENSE.docs is one of the documentation, which is not built.
var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)`)
	noLicence   = regexp.MustCompile(`(?i)\.(docs|go)$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)(\.|$)`)
)

// read fills in the licences and texts.
func (m *Module) read(sources Sources) error {
	root, folder := sources.Cache, cacheFolder(m.Path, m.Version)
	if m.Path == Standard {
		root, folder = sources.Toolchain, "."
	}
	entries, err := fs.ReadDir(root, folder)
	if err != nil {
		return fmt.Errorf("module %s %s: %w: run go mod download", m.Path, m.Version, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		isLicence := licenceFile.MatchString(name) && !noLicence.MatchString(name)
		if entry.IsDir() || !isLicence && !noticeFile.MatchString(name) {
			continue
		}
		content, err := fs.ReadFile(root, path.Join(folder, name))
		if err != nil {
			return fmt.Errorf("module %s %s: %w", m.Path, m.Version, err)
		}
		m.Texts = append(m.Texts, Text{Name: name, Content: string(content)})
		if !isLicence {
			continue
		}
		ids, err := Classify(string(content))
		if err != nil {
			return fmt.Errorf("module %s %s, %s: %w: do without it, or have its licence allowed", m.Path, m.Version, name, err)
		}
		m.Licences = append(m.Licences, ids...)
	}
	if len(m.Licences) == 0 {
		return fmt.Errorf("module %s %s: %w: it has no licence file in its root", m.Path, m.Version, ErrNotAllowed)
	}
	slices.Sort(m.Licences)
	m.Licences = slices.Compact(m.Licences)
	return nil
}

// cacheFolder is a module's folder in the module cache: upper-case letters are written `!` and the letter in lower case
// (Go Modules Reference, Module cache).
func cacheFolder(modulePath, version string) string {
	return escape(modulePath) + "@" + escape(version)
}

var upper = regexp.MustCompile(`[A-Z]`)

func escape(text string) string {
	return upper.ReplaceAllStringFunc(text, func(letter string) string { return "!" + strings.ToLower(letter) })
}
