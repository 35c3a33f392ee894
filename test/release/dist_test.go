package release

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/validate"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/tools/images"
	"github.com/rankwright/rankwright/tools/release"
)

// dist is the folder of what was made, and its version.
func dist(t *testing.T) (folder, version string) {
	t.Helper()
	folder = os.Getenv("RANKWRIGHT_DIST")
	if folder == "" {
		t.Skip("runs under make release-dry-run, which makes the release")
	}
	return folder, strings.TrimSpace(string(read(t, filepath.Join(folder, "version"))))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// machines tell what a program was built for.
var machines = map[string]func(program string) (machine string, err error){
	"linux": func(program string) (string, error) {
		file, err := elf.Open(program)
		if err != nil {
			return "", err
		}
		return file.Machine.String(), file.Close()
	},
	"darwin": func(program string) (string, error) {
		file, err := macho.Open(program)
		if err != nil {
			return "", err
		}
		return file.Cpu.String(), file.Close()
	},
	"windows": func(program string) (string, error) {
		file, err := pe.Open(program)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%#x", file.Machine), file.Close()
	},
}

// Whoever follows krew's manifest gets the program of the version, on every platform that is promised.
func TestPluginIsInstalledByItsManifest(t *testing.T) {
	folder, version := dist(t)
	archives := filepath.Join(folder, "archives")
	manifest, err := ReadManifest(read(t, filepath.Join(archives, "krew", "rankwright.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Metadata.Name != "rankwright" || manifest.Spec.Version != "v"+version {
		t.Errorf("the manifest is of %s %s", manifest.Metadata.Name, manifest.Spec.Version)
	}
	for _, platform := range manifest.Spec.Platforms {
		if !strings.Contains(platform.URI, "/releases/download/v"+version+"/") {
			t.Errorf("%s: it is not of the release v%s", platform.URI, version)
		}
	}
	for platform, want := range map[string]string{
		"linux/amd64": "EM_X86_64", "linux/arm64": "EM_AARCH64", "darwin/amd64": "CpuAmd64", "darwin/arm64": "CpuArm64",
		"windows/amd64": "0x8664", "windows/arm64": "0xaa64",
	} {
		operatingSystem, architecture, _ := strings.Cut(platform, "/")
		into := t.TempDir()
		program, err := manifest.Install(operatingSystem, architecture, FromFolder(archives), into)
		if err != nil {
			t.Error(err)
			continue
		}
		if machine, err := machines[operatingSystem](program); machine != want || err != nil {
			t.Errorf("%s: the program is for %s, %v", platform, machine, err)
		}
		for _, text := range []string{"LICENSE", "THIRD-PARTY"} {
			if len(read(t, filepath.Join(into, text))) == 0 {
				t.Errorf("%s: no %s", platform, text)
			}
		}
		if platform != runtime.GOOS+"/"+runtime.GOARCH {
			continue
		}
		said, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
		if err != nil || !strings.Contains(string(said), "v"+version) {
			t.Errorf("--version says %q, %v", said, err)
		}
	}
}

// Sums are right, and there is one for everything that is published with them.
func TestChecksums(t *testing.T) {
	folder, _ := dist(t)
	var listed []string
	for lines := bufio.NewScanner(bytes.NewReader(read(t, filepath.Join(folder, "archives", "checksums.txt")))); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		found, err := filepath.Glob(filepath.Join(folder, "a*", name))
		if err != nil || len(found) != 1 {
			t.Errorf("%s: found %v, %v", name, found, err)
			continue
		}
		if is := fmt.Sprintf("%x", sha256.Sum256(read(t, found[0]))); is != sum {
			t.Errorf("%s: its sum is %s, and %s is listed", name, is, sum)
		}
		listed = append(listed, name)
	}
	published, err := filepath.Glob(filepath.Join(folder, "assets", "*"))
	if err != nil || len(published) < 3 {
		t.Errorf("assets: %v, %v", published, err)
	}
	for _, pattern := range []string{"*.tar.gz", "*.zip"} {
		archives, err := filepath.Glob(filepath.Join(folder, "archives", pattern))
		if err != nil || len(archives) == 0 {
			t.Errorf("%s: %v, %v", pattern, archives, err)
		}
		published = append(published, archives...)
	}
	for _, name := range published {
		if !slices.Contains(listed, filepath.Base(name)) {
			t.Errorf("%s: no sum", filepath.Base(name))
		}
	}
}

// Each image is valid, has every architecture, starts a program of that architecture, and holds a bill of materials for each program
// and the texts of licences.
func TestImages(t *testing.T) {
	folder, version := dist(t)
	architectures, _ := images.Architectures()
	for _, name := range release.Images {
		index, reference, err := images.Open(filepath.Join(folder, "images", name+".tar"), t.TempDir())
		if err != nil {
			t.Error(err)
			continue
		}
		if reference != "ghcr.io/rankwright/"+name+":"+version {
			t.Errorf("%s is named %s", name, reference)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, architecture := range architectures {
			checkImage(t, index, name, architecture, version)
		}
	}
}

// bill is what of an SPDX document is looked at.
type bill struct {
	Name     string
	Packages []struct{ Name, VersionInfo, LicenseDeclared string }
}

func checkBill(t *testing.T, text, program, version string) {
	t.Helper()
	var document bill
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Error(err)
		return
	}
	if document.Name != program || len(document.Packages) < 3 || document.Packages[0].VersionInfo != "v"+version {
		t.Errorf("bill of materials of %s: %s, %d packages", program, document.Name, len(document.Packages))
	}
	for _, p := range document.Packages {
		if p.LicenseDeclared == "" || p.VersionInfo == "" {
			t.Errorf("bill of materials of %s: %+v", program, p)
		}
	}
}

// install.yaml names the released images alone, and begins with the namespace of the agents.
func TestInstallManifest(t *testing.T) {
	folder, version := dist(t)
	objects, err := controlplane.ReadManifests(filepath.Join(folder, "assets", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if first := objects[0]; first.GetKind() != "Namespace" || len(objects) < 20 {
		t.Errorf("%d objects, of which the first is %s", len(objects), first.GetKind())
	}
	for line := range strings.Lines(string(read(t, filepath.Join(folder, "assets", "install.yaml")))) {
		if _, image, isImage := strings.Cut(line, "image: "); isImage && !strings.HasSuffix(strings.Trim(strings.TrimSpace(image), `"`), ":"+version) {
			t.Errorf("an image of another version: %s", image)
		}
	}
}

// The chart tells Artifact Hub its images and changes.
func TestChartIsAnnotated(t *testing.T) {
	folder, version := dist(t)
	unpacked := t.TempDir()
	if err := unpackTar(read(t, filepath.Join(folder, "assets", "rankwright-"+version+".tgz")), unpacked); err != nil {
		t.Fatal(err)
	}
	var chart struct {
		Version, AppVersion string
		Annotations         map[string]string
	}
	if err := yaml.Unmarshal(read(t, filepath.Join(unpacked, "rankwright", "Chart.yaml")), &chart); err != nil {
		t.Fatal(err)
	}
	if chart.Version != version || chart.AppVersion != version {
		t.Errorf("version %s of %s, want %s of both", chart.Version, chart.AppVersion, version)
	}
	var named []struct{ Name, Image string }
	if err := yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/images"]), &named); err != nil || len(named) != len(release.Images) {
		t.Errorf("images %v, %v", named, err)
	}
	var changes []release.Change
	if err := yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/changes"]), &changes); err != nil || len(changes) == 0 {
		t.Errorf("changes %v, %v", changes, err)
	}
	for _, file := range []string{"README.md", "values.schema.json"} {
		if len(read(t, filepath.Join(unpacked, "rankwright", file))) == 0 {
			t.Errorf("no %s", file)
		}
	}
}
