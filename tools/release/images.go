package release

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/rankwright/rankwright/tools/images"
	"github.com/rankwright/rankwright/tools/licences"
)

// Build is what images are made of.
type Build struct {
	// Root is the folder of the repository, Out where the archives of images go, Work where programs are built.
	Root, Out, Work string
	// Version and Revision are what the images are labelled with.
	Version, Revision string
	// Created is when the sources were written.
	Created time.Time
	// Sources are where licences are read.
	Sources licences.Sources
	// Say tells what is done.
	Say func(format string, args ...any)
}

// Images makes an archive of each image, an index of the architectures.
func (b *Build) Images(ctx context.Context, architectures []string) error {
	text, err := os.ReadFile(filepath.Join(b.Root, "Dockerfile"))
	if err != nil {
		return err
	}
	read, err := images.Read(string(text))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.Out, 0o755); err != nil { //nolint:gosec // no secret
		return err
	}
	built := map[string][]v1.Image{}
	for _, architecture := range architectures {
		if err := b.programs(ctx, read, architecture); err != nil {
			return err
		}
		for _, name := range Images {
			image, err := b.image(read.Stages[name], architecture)
			if err != nil {
				return fmt.Errorf("image %s for %s: %w", name, architecture, err)
			}
			built[name] = append(built[name], image)
		}
	}
	for _, name := range Images {
		index, err := images.Index(built[name])
		if err != nil {
			return err
		}
		reference := Reference(name, b.Version)
		if err := images.WriteArchive(filepath.Join(b.Out, name+".tar"), reference, index); err != nil {
			return err
		}
		b.Say("%s for %s", reference, strings.Join(architectures, ", "))
	}
	return nil
}

// folder is where the programs of an architecture are, with licenses and sbom beside them.
func (b *Build) folder(architecture string) string { return filepath.Join(b.Work, architecture) }

// programs builds all programs of the images for an architecture, and writes their licences and bills of materials.
func (b *Build) programs(ctx context.Context, read images.Dockerfile, architecture string) error {
	folder := b.folder(architecture)
	with := images.Programs{Root: b.Root, Out: folder, Tags: read.Tags, Version: "v" + b.Version, Architecture: architecture}
	var names []string
	for _, image := range Images {
		names = append(names, read.Stages[image].Programs()...)
	}
	slices.Sort(names)
	var programs []licences.Program
	for _, name := range slices.Compact(names) {
		b.Say("build %s for %s", name, architecture)
		binary, err := with.Build(ctx, name, "")
		if err != nil {
			return err
		}
		program, err := licences.ReadProgram(name, binary, b.Sources)
		if err != nil {
			return err
		}
		program.Version = "v" + b.Version
		if err := b.bill(&program, binary, filepath.Join(folder, "sbom", name+".spdx.json")); err != nil {
			return err
		}
		programs = append(programs, program)
	}
	return b.licences(programs, filepath.Join(folder, "licenses"))
}

// bill writes the bill of materials of a program.
func (b *Build) bill(program *licences.Program, binary, path string) error {
	content, err := os.ReadFile(binary) //nolint:gosec // just built
	if err != nil {
		return err
	}
	document, err := program.SPDX(content, b.Created)
	if err != nil {
		return err
	}
	return write(path, document)
}

// licences writes what goes with copies of the programs.
func (b *Build) licences(programs []licences.Program, folder string) error {
	own, err := os.ReadFile(filepath.Join(b.Root, "LICENSE"))
	if err != nil {
		return err
	}
	var texts strings.Builder
	if err := licences.WriteNotices(&texts, licences.Merge(programs)); err != nil {
		return err
	}
	if err := write(filepath.Join(folder, "LICENSE"), own); err != nil {
		return err
	}
	return write(filepath.Join(folder, "THIRD-PARTY"), []byte(texts.String()))
}

func (b *Build) image(stage *images.Stage, architecture string) (v1.Image, error) {
	image, err := stage.Image(b.folder(architecture), architecture)
	if err != nil {
		return nil, err
	}
	if stage.Glibc {
		image.Files["/licenses/GLIBC"] = glibcLicence
	}
	fill := strings.NewReplacer("${VERSION}", b.Version, "${REVISION}", b.Revision)
	image.Labels = map[string]string{}
	for name, value := range stage.Labels {
		image.Labels[name] = fill.Replace(value)
	}
	image.Created = b.Created
	return image.Build()
}

// glibcLicence is where Debian's package of glibc has its licence.
const glibcLicence = "/usr/share/doc/libc6/copyright"

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // no secret
		return err
	}
	return os.WriteFile(path, content, 0o644) //nolint:gosec // no secret
}
