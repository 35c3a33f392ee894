// Package images holds the Dockerfile to the sources that it builds.
package images

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// stage is a part of the Dockerfile from one FROM to the next.
type stage struct {
	name, base   string
	instructions []string
}

// stages splits a Dockerfile, lines joined, without comments; the arguments before the first stage are one without a name.
func stages(t *testing.T, name string) []stage {
	t.Helper()
	var lines []string
	for line := range strings.Lines(read(t, name)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	found := []stage{{}}
	for line := range strings.Lines(strings.ReplaceAll(strings.Join(lines, "\n"), "\\\n", " ")) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "FROM":
			found = append(found, stage{name: fields[len(fields)-1], base: fields[len(fields)-3]})
		default:
			last := &found[len(found)-1]
			last.instructions = append(last.instructions, strings.Join(fields, " "))
		}
	}
	return found
}

func (s *stage) has(instruction string) bool { return slices.Contains(s.instructions, instruction) }

// Every package of the programs is copied, and nothing that a program is made of is ignored.
func TestEverySourceIsCopied(t *testing.T) {
	for _, test := range []struct {
		file, stage string
		programs    []string
	}{
		{"Dockerfile", "build", []string{"./cmd/node-agent", "./cmd/node-helper", "./cmd/operator", "./cmd/rankwright-nccl", "./cmd/rankwright-nvml", "./tools/licences/command"}},
		{"Dockerfile", "cgo", []string{"./cmd/rankwright-cdi"}},
		{"examples/allreduce/Dockerfile", "build", []string{"./examples/allreduce"}},
	} {
		t.Run(test.file+" "+test.stage, func(t *testing.T) {
			ignored := ".dockerignore"
			if test.file != "Dockerfile" {
				ignored = test.file + ignored
			}
			all := stages(t, test.file)
			at := slices.IndexFunc(all, func(s stage) bool { return s.name == test.stage })
			if at < 0 {
				t.Fatal("no such stage")
			}
			checkSources(t, all[at], read(t, ignored), test.programs)
		})
	}
}

func checkSources(t *testing.T, build stage, ignored string, programs []string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{ //nolint:gosec // programs of this repository
		"list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{range .EmbedFiles}} {{.}}{{end}}{{end}}{{end}}`,
	}, programs...)...)
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if !copied(build, ignored, strings.TrimPrefix(fields[0], "github.com/rankwright/rankwright/")) {
			t.Errorf("%s: neither it nor a folder above it is copied and not ignored", fields[0])
		}
		for _, embedded := range fields[1:] {
			if strings.Contains("/"+embedded, "/testdata/") {
				t.Errorf("%s embeds %s, which is ignored", fields[0], embedded)
			}
		}
	}
}

// copied says whether a folder, or one above it, is copied and not ignored.
func copied(build stage, ignored, folder string) bool {
	for ; folder != "."; folder = path.Dir(folder) {
		if build.has("COPY "+folder+" ./"+folder) && strings.Contains(ignored, "\n!"+folder+"\n") {
			return true
		}
	}
	return false
}

var argument = regexp.MustCompile(`\$\{?([A-Z_]+)`)

// A variable that no stage declares is empty there, without a word.
func TestEveryArgumentIsDeclared(t *testing.T) {
	all := stages(t, "Dockerfile")
	global := declared(all[0])
	for _, s := range all[1:] {
		for _, match := range argument.FindAllStringSubmatch(s.base, -1) {
			if !slices.Contains(global, match[1]) {
				t.Errorf("%s: base %s is not declared before the first stage", s.name, match[1])
			}
		}
		own := declared(s)
		for _, instruction := range s.instructions {
			for _, match := range argument.FindAllStringSubmatch(instruction, -1) {
				if !slices.Contains(own, match[1]) {
					t.Errorf("%s: %s is not declared in it", s.name, match[1])
				}
			}
		}
	}
}

func declared(s stage) []string {
	var names []string
	for _, instruction := range s.instructions {
		if name, ok := strings.CutPrefix(instruction, "ARG "); ok {
			name, _, _ = strings.Cut(name, "=")
			names = append(names, name)
		}
	}
	return names
}

// Users and bases of what runs in a cluster.
func TestImages(t *testing.T) {
	want := map[string][2]string{
		"operator": {"${STATIC_IMAGE}", "USER 65532:65532"}, "node-agent": {"${STATIC_IMAGE}", "USER 0:0"}, "node-helper": {"${GLIBC_IMAGE}", "USER 0:0"},
	}
	for _, s := range stages(t, "Dockerfile")[3:] { // after arguments and both builds
		expected, ok := want[s.name]
		if !ok || s.base != expected[0] || !s.has(expected[1]) {
			t.Errorf("%s of %s: want base and user %v", s.name, s.base, expected)
		}
		delete(want, s.name)
		for _, label := range []string{"title", "description", "source", "licenses", "version", "revision"} {
			if !strings.Contains(strings.Join(s.instructions, "\n"), "org.opencontainers.image."+label+"=") {
				t.Errorf("%s: label %s is missing", s.name, label)
			}
		}
	}
	for name := range want {
		t.Errorf("%s: no such stage", name)
	}
}

// The toolchain image is the version that go.mod asks for.
func TestToolchain(t *testing.T) {
	line := regexp.MustCompile(`(?m)^go \d+\.\d+`).FindString(read(t, "go.mod"))
	want := "ARG GO_IMAGE=golang:" + strings.TrimPrefix(line, "go ") + "-"
	if arguments := stages(t, "Dockerfile")[0].instructions; line == "" || !slices.ContainsFunc(arguments, func(i string) bool { return strings.HasPrefix(i, want) }) {
		t.Errorf("go.mod has %q, the Dockerfile %v", line, arguments)
	}
}

// What is run by each builder, and what is said where none works.
func TestImagesScript(t *testing.T) {
	run := func(env []string, args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "images.sh"), args...)
		command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
		output, err := command.CombinedOutput()
		return string(output), err
	}
	for _, test := range []struct {
		env  []string
		want []string
	}{
		{nil, []string{"docker buildx build --load --target operator --tag rankwright/operator:v1 --build-arg VERSION=v1 ", " --file Dockerfile ."}},
		{
			[]string{"PLATFORMS=linux/amd64,linux/arm64", "BUILD_ARGS=--push", "IMAGE_PREFIX=example.com/"},
			[]string{"docker buildx build --platform linux/amd64,linux/arm64 --target node-agent --tag example.com/node-agent:v1 ", " --push --file"},
		},
		{[]string{"BUILDER=podman", "PLATFORMS=linux/arm64"}, []string{"podman build --platform linux/arm64 --target node-helper --tag rankwright/node-helper:v1"}},
		{[]string{"BUILDER=buildah", "PLATFORMS=linux/amd64,linux/arm64"}, []string{"buildah build --platform linux/amd64,linux/arm64 --target operator --manifest rankwright/operator:v1"}},
	} {
		output, err := run(test.env, "--print", "v1")
		if err != nil || strings.Count(output, "\n") != 3 {
			t.Errorf("%v: %v\n%s", test.env, err, output)
		}
		for _, want := range test.want {
			if !strings.Contains(output, want) {
				t.Errorf("%v: no %q in\n%s", test.env, want, output)
			}
		}
	}
	output, err := run([]string{"BUILDER=none"}, "v1")
	if err == nil || !strings.Contains(output, "no builder of images works here") {
		t.Errorf("%v: %s", err, output)
	}
}
