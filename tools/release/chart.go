package release

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Images are the images of a release, by their names below the registry's organisation.
var Images = []string{"node-agent", "node-helper", "operator"}

// Registry and the organisation below it, where images are by the chart's values.
const Registry = "ghcr.io/rankwright"

// Reference is the name of an image of a version.
func Reference(image, version string) string { return Registry + "/" + image + ":" + version }

// StageChart copies the chart's folder to out, with the version and with what Artifact Hub
// (https://artifacthub.io/docs/topics/annotations/helm/) is told of it: its images, and its changes as the changelog has them.
func StageChart(source, out, version, changelog string) error {
	if err := CheckVersion(version); err != nil {
		return err
	}
	section, err := Section(changelog, version)
	if err != nil {
		return err
	}
	changes, err := Changes(section)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.CopyFS(out, os.DirFS(source)); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	path := filepath.Join(out, "Chart.yaml")
	text, err := os.ReadFile(path) //nolint:gosec // just copied
	if err != nil {
		return err
	}
	staged, err := annotate(text, version, changes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, staged, fs.FileMode(0o644)) //nolint:gosec // no secret
}

// annotate sets version and annotations in the text of a Chart.yaml.
func annotate(text []byte, version string, changes []Change) ([]byte, error) {
	chart := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &chart); err != nil {
		return nil, err
	}
	annotations, areAnnotations := chart["annotations"].(map[string]any)
	if !areAnnotations {
		return nil, fmt.Errorf("annotations: want an object, got %T", chart["annotations"])
	}
	var images []map[string]string
	for _, name := range Images {
		images = append(images, map[string]string{"name": name, "image": Reference(name, version)})
	}
	for name, value := range map[string]any{"artifacthub.io/images": images, "artifacthub.io/changes": changes} {
		// Artifact Hub reads YAML from these annotations.
		inner, err := yaml.Marshal(value)
		if err != nil {
			return nil, err
		}
		annotations[name] = string(inner)
	}
	annotations["artifacthub.io/prerelease"] = fmt.Sprint(Unreleased(version))
	chart["version"], chart["appVersion"] = version, version
	return yaml.Marshal(chart)
}
