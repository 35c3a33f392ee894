//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rankwright/rankwright/tools/images"
)

const (
	tag            = "e2e"
	probeImage     = "rankwright.dev/probe:" + tag
	allreduceImage = "rankwright.dev/allreduce:" + tag
)

// products are the images of Rankwright, which are named as the chart names them.
var products = []string{"node-agent", "node-helper", "operator"}

// buildImages builds the programs of this repository and puts them into images as the Dockerfile says, without an engine or a registry,
// and returns the archives. Licences and bills of materials are left out.
func buildImages(ctx context.Context, dir string) ([]string, error) {
	archives, err := productImages(ctx, "../..", dir, tag)
	if err != nil {
		return nil, err
	}
	programs := images.Programs{Root: "../..", Out: dir, Version: tag}
	for name, source := range sources {
		if _, err := programs.Build(ctx, name, source); err != nil {
			return nil, err
		}
	}
	probe := filepath.Join(dir, "probe")
	for name, image := range map[string]images.Image{
		probeImage: {Files: map[string]string{"/probe": probe}, Entrypoint: []string{"/probe"}},
		// The probe tells what the container sees before the program starts.
		allreduceImage: {Files: map[string]string{"/allreduce": filepath.Join(dir, "allreduce"), "/probe": probe}, Entrypoint: []string{"/allreduce"}},
	} {
		image.User = "65532:65532"
		archive := filepath.Join(dir, strings.ReplaceAll(filepath.Base(name), ":", "-")+".tar")
		if err := image.Write(archive, name); err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// productImages makes the images of the sources below a root, which have a tag in the registry of values.yaml.
func productImages(ctx context.Context, root, dir, tag string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	read, err := images.Read(string(text))
	if err != nil {
		return nil, err
	}
	programs := images.Programs{Root: root, Out: dir, Tags: read.Tags, Version: tag}
	var archives []string
	for _, product := range products {
		stage := read.Stages[product]
		if stage == nil {
			return nil, fmt.Errorf("Dockerfile: no stage %s", product)
		}
		step("build %s %s", product, tag)
		for _, name := range stage.Programs() {
			if _, err := programs.Build(ctx, name, ""); err != nil {
				return nil, err
			}
		}
		image, err := stage.Image(dir, runtime.GOARCH)
		if err != nil {
			return nil, err
		}
		archive := filepath.Join(dir, product+".tar")
		if err := image.Write(archive, "rankwright.dev/rankwright/"+product+":"+tag); err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

// sources are the packages of programs that are not in cmd.
var sources = map[string]string{"probe": "./test/e2e/probe", "allreduce": "./examples/allreduce"}
