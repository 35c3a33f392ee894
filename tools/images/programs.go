package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// Programs builds programs of this repository as the Dockerfile does.
type Programs struct {
	// Root is the folder of the repository, Out the folder that programs are written to.
	Root, Out string
	// Tags are the Dockerfile's, Version is stamped into the programs.
	Tags, Version string
	// Architecture is this machine's where it is empty.
	Architecture string
}

const versionVariable = "github.com/rankwright/rankwright/internal/version.version"

// needC are the arguments of the programs that need a C compiler.
var needC = map[string]func(p *Programs) []string{
	"rankwright-cdi": func(p *Programs) []string {
		return []string{"-ldflags", "-s -w -extldflags=-Wl,-z,lazy -X " + versionVariable + "=" + p.Version, "./cmd/rankwright-cdi"}
	},
	"nvidia-cdi-hook": func(*Programs) []string {
		return []string{
			"-tags", "netgo,osusergo", "-ldflags", "-s -w -linkmode external -extldflags '-static -Wl,-z,lazy'",
			"github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook",
		}
	},
}

// compilers are Debian's compilers for another architecture than the machine's.
var compilers = map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"}

// Build builds a program and returns its path. Its source is the folder of its name in cmd, or the one that is given.
func (p *Programs) Build(ctx context.Context, name, source string) (string, error) {
	binary, err := filepath.Abs(filepath.Join(p.Out, name))
	if err != nil {
		return "", err
	}
	args := []string{"build", "-trimpath", "-o", binary}
	environment := append(os.Environ(), "GOOS=linux", "GOARCH="+p.architecture())
	if with, needs := needC[name]; needs {
		args = append(args, with(p)...)
		environment = append(environment, "CGO_ENABLED=1")
		if p.architecture() != runtime.GOARCH {
			environment = append(environment, "CC="+compilers[p.architecture()])
		}
	} else {
		if source == "" {
			source = "./cmd/" + name
		}
		args = append(args, "-tags", p.Tags, "-ldflags", "-s -w -X "+versionVariable+"="+p.Version, source)
		environment = append(environment, "CGO_ENABLED=0")
	}
	build := exec.CommandContext(ctx, "go", args...) //nolint:gosec // programs of this repository
	build.Dir, build.Env = p.Root, environment
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s for %s: %w\n%s", name, p.architecture(), err, output)
	}
	return binary, nil
}

func (p *Programs) architecture() string {
	if p.Architecture == "" {
		return runtime.GOARCH
	}
	return p.Architecture
}

// Architectures are those that images are made for on this machine: all, where a compiler for the programs that need C is there, else
// its own. What lacks is the name of the first compiler that is missing.
func Architectures() (of []string, lacks string) {
	for architecture, compiler := range compilers {
		if architecture == runtime.GOARCH {
			of = append(of, architecture)
		} else if _, err := exec.LookPath(compiler); err == nil {
			of = append(of, architecture)
		} else {
			lacks = compiler
		}
	}
	slices.Sort(of)
	return of, lacks
}
