//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/test/cluster"
)

const (
	tag            = "e2e"
	probeImage     = "rankwright.dev/probe:" + tag
	allreduceImage = "rankwright.dev/allreduce:" + tag
)

// stage is what the last stage of an image in the Dockerfile says.
type stage struct {
	// programs are the paths in the image by the path in the build stage.
	programs   map[string]string
	user       string
	entrypoint []string
	// glibc says that the base of the image has glibc.
	glibc bool
}

// buildImages builds the programs and puts them into images as the Dockerfile says, without an engine or a registry, and
// returns the archives. Licences and bills of materials are left out.
func buildImages(ctx context.Context, dir string) ([]string, error) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		return nil, err
	}
	stages, err := readDockerfile(text)
	if err != nil {
		return nil, err
	}
	flags := buildFlags.FindSubmatch(text)
	if flags == nil {
		return nil, errors.New("Dockerfile: no `go build` with -tags")
	}
	stages["probe"] = stage{programs: map[string]string{outBin + "probe": "/probe"}, user: "65532:65532", entrypoint: []string{"/probe"}}
	// The probe tells what the container sees before the program starts.
	stages["allreduce"] = stage{
		programs: map[string]string{outBin + "allreduce": "/allreduce", outBin + "probe": "/probe"}, user: "65532:65532", entrypoint: []string{"/allreduce"},
	}
	var archives []string
	for _, image := range []struct{ name, stage string }{
		{"rankwright.dev/rankwright/node-agent:" + tag, "node-agent"},
		{"rankwright.dev/rankwright/node-helper:" + tag, "node-helper"},
		{"rankwright.dev/rankwright/operator:" + tag, "operator"},
		{probeImage, "probe"},
		{allreduceImage, "allreduce"},
	} {
		of, known := stages[image.stage]
		if !known {
			return nil, fmt.Errorf("Dockerfile: no stage %s", image.stage)
		}
		step("build %s", image.name)
		files, err := of.build(ctx, dir, string(flags[1]))
		if err != nil {
			return nil, err
		}
		archive := filepath.Join(dir, image.stage+".tar")
		if err := cluster.WriteImage(archive, image.name, cluster.Image{Files: files, Entrypoint: of.entrypoint, User: of.user}); err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// outBin is where the Dockerfile's build stage puts programs.
const outBin = "/out/bin/"

// sources are the packages of programs that are not in cmd.
var sources = map[string]string{"probe": "./probe", "allreduce": "../../examples/allreduce"}

// build builds the programs of a stage and returns what the image holds, by the paths in it.
func (s *stage) build(ctx context.Context, dir, tags string) (map[string]string, error) {
	files := map[string]string{}
	for built, target := range s.programs {
		name, isProgram := strings.CutPrefix(built, outBin)
		if !isProgram {
			continue
		}
		binary, err := buildProgram(ctx, dir, name, tags)
		if err != nil {
			return nil, err
		}
		files[target] = binary
		if !s.glibc {
			continue
		}
		if err := addLibraries(ctx, files, binary); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// needC are the programs that need a C compiler, which the Makefile builds as the Dockerfile does.
var needC = []string{"rankwright-cdi", "nvidia-cdi-hook"}

// buildProgram builds a program and returns its path.
func buildProgram(ctx context.Context, dir, name, tags string) (string, error) {
	if slices.Contains(needC, name) {
		binary := filepath.Join("..", "..", "bin", name)
		if output, err := exec.CommandContext(ctx, "make", "-C", filepath.Join("..", ".."), "bin/"+name).CombinedOutput(); err != nil {
			return "", fmt.Errorf("make bin/%s: %w\n%s", name, err, output)
		}
		return binary, nil
	}
	source := sources[name]
	if source == "" {
		source = "../../cmd/" + name
	}
	binary := filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-trimpath",
		"-ldflags=-s -w -X github.com/rankwright/rankwright/internal/version.version="+tag, "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, output)
	}
	return binary, nil
}

// addLibraries adds what a program is linked against on this machine, at the paths where its loader looks.
func addLibraries(ctx context.Context, files map[string]string, binary string) error {
	output, err := exec.CommandContext(ctx, "ldd", binary).CombinedOutput()
	if strings.Contains(string(output), "not a dynamic executable") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ldd %s: %w: %s", binary, err, output)
	}
	for _, library := range libraryPath.FindAllString(string(output), -1) {
		files[library] = library
	}
	return nil
}

var libraryPath = regexp.MustCompile(`/\S+\.so\S*`)

// buildFlags finds the build tags of the programs that need no C compiler.
var buildFlags = regexp.MustCompile(`CGO_ENABLED=0 .*go build -tags ([a-z,]+)`)

// readDockerfile reads the stages that images are made of: those without RUN.
func readDockerfile(text []byte) (map[string]stage, error) {
	stages := map[string]stage{}
	current := ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		of := stages[current]
		switch words[0] {
		case "FROM":
			current = words[len(words)-1]
			stages[current] = stage{programs: map[string]string{}, glibc: strings.Contains(words[1], "GLIBC_IMAGE")}
			continue
		case "COPY":
			of.copied(words[1:])
		case "USER":
			of.user = words[1]
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "ENTRYPOINT")), &of.entrypoint); err != nil {
				return nil, fmt.Errorf("Dockerfile: ENTRYPOINT of %s: %w", current, err)
			}
		default:
			continue
		}
		stages[current] = of
	}
	return stages, nil
}

// copied notes what a COPY from the build stage puts where.
func (s *stage) copied(words []string) {
	if words[0] != "--from=build" {
		return
	}
	sources, target := words[1:len(words)-1], words[len(words)-1]
	for _, source := range sources {
		if strings.HasSuffix(target, "/") {
			s.programs[source] = target + path.Base(source)
		} else {
			s.programs[source] = target
		}
	}
}

func TestReadDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages, err := readDockerfile(text)
	if err != nil {
		t.Fatal(err)
	}
	if flags := buildFlags.FindSubmatch(text); len(flags) < 2 || string(flags[1]) != "grpcnotrace" {
		t.Errorf("build tags %q: not those of the agent", flags)
	}
	operator := stages["operator"]
	if diff := cmp.Diff([]string{operator.programs["/out/bin/operator"]}, operator.entrypoint); diff != "" {
		t.Errorf("the operator's image starts another program than it has (-has +starts):\n%s", diff)
	}
	if operator.user == "" || strings.HasPrefix(operator.user, "0") {
		t.Errorf("the operator's user is %q", operator.user)
	}
	if helper := stages["node-helper"]; len(helper.programs) < 2 || !helper.glibc {
		t.Errorf("the helper's image has %v, glibc %t", helper.programs, helper.glibc)
	}
	agent := stages["node-agent"]
	if diff := cmp.Diff([]string{agent.programs["/out/bin/node-agent"]}, agent.entrypoint); diff != "" {
		t.Errorf("the agent's image starts another program than it has (-has +starts):\n%s", diff)
	}
}
