// Package images makes the images that the Dockerfile describes, without an engine and without a registry: what its last stages
// copy is packed by go-containerregistry. The same files give the same bytes.
package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Out is where the Dockerfile's build stage puts what images are made of: programs in Out/bin, licences in Out/licenses and bills of
// materials in Out/sbom.
const Out = "/out"

// Stage is what the last stage of an image in the Dockerfile says.
type Stage struct {
	// Copies are files and folders of the build stage and their paths in the image.
	Copies     []Copy
	User       string
	Entrypoint []string
	// Labels have the Dockerfile's arguments in them: ${VERSION}.
	Labels map[string]string
	// Glibc says that the base of the image has glibc.
	Glibc bool
}

// Copy is a file or a folder, by its path in the build stage and in the image.
type Copy struct{ From, To string }

// Programs are the names of the programs that are copied.
func (s *Stage) Programs() []string {
	var names []string
	for _, c := range s.Copies {
		if name, isProgram := strings.CutPrefix(c.From, Out+"/bin/"); isProgram {
			names = append(names, name)
		}
	}
	return names
}

// Dockerfile is what is read of it.
type Dockerfile struct {
	// Stages are those without RUN, by name.
	Stages map[string]*Stage
	// Tags are the build tags of the programs that need no C compiler.
	Tags string
}

var (
	buildTags    = regexp.MustCompile(`CGO_ENABLED=0 .*go build -tags ([a-z,]+)`)
	label        = regexp.MustCompile(`([a-z.]+)="([^"]*)"`)
	instructions = map[string]func(*Stage, string) error{
		"COPY": (*Stage).copied, "LABEL": (*Stage).labelled,
		"USER":       func(s *Stage, rest string) error { s.User = rest; return nil },
		"ENTRYPOINT": func(s *Stage, rest string) error { return json.Unmarshal([]byte(rest), &s.Entrypoint) },
	}
)

// Read reads the Dockerfile.
func Read(text string) (Dockerfile, error) {
	tags := buildTags.FindStringSubmatch(text)
	if tags == nil {
		return Dockerfile{}, errors.New("Dockerfile: no `CGO_ENABLED=0 … go build -tags`")
	}
	read := Dockerfile{Stages: map[string]*Stage{}, Tags: tags[1]}
	var current *Stage
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "FROM" {
			words := strings.Fields(rest)
			current = &Stage{Labels: map[string]string{}, Glibc: strings.Contains(words[0], "GLIBC_IMAGE")}
			read.Stages[words[len(words)-1]] = current
			continue
		}
		if follow, known := instructions[instruction]; known && current != nil {
			if err := follow(current, rest); err != nil {
				return Dockerfile{}, fmt.Errorf("Dockerfile: %s %s: %w", instruction, rest, err)
			}
		}
	}
	return read, nil
}

// copied notes what a COPY from the build stage puts where.
func (s *Stage) copied(rest string) error {
	words := strings.Fields(rest)
	if words[0] != "--from=build" {
		return nil
	}
	from, to := words[1:len(words)-1], words[len(words)-1]
	for _, source := range from {
		target := to
		if strings.HasSuffix(to, "/") {
			target += path.Base(source)
		}
		s.Copies = append(s.Copies, Copy{source, target})
	}
	return nil
}

func (s *Stage) labelled(rest string) error {
	for _, match := range label.FindAllStringSubmatch(rest, -1) {
		s.Labels[match[1]] = match[2]
	}
	return nil
}

// Image is the image of a stage, of what a folder has where the build stage has Out: programs beside licenses and sbom, which may be
// missing. An image that needs glibc gets it.
func (s *Stage) Image(folder, architecture string) (*Image, error) {
	image := &Image{Files: map[string]string{}, Entrypoint: s.Entrypoint, User: s.User, Labels: s.Labels, Architecture: architecture}
	for _, c := range s.Copies {
		below := strings.TrimPrefix(strings.TrimPrefix(c.From, Out+"/bin"), Out)
		source := filepath.Join(folder, filepath.FromSlash(below))
		isProgram := strings.HasPrefix(c.From, Out+"/bin/")
		if !exists(source) && !isProgram {
			continue
		}
		image.Files[c.To] = source
		if isProgram && s.Glibc {
			if err := AddGlibc(image.Files, source, architecture); err != nil {
				return nil, err
			}
		}
	}
	return image, nil
}
