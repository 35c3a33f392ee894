package injection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/pkg/nodeagent/disk"
)

// Folder is where container runtimes read the specifications, /var/run/cdi on most nodes. The files of our own vendor are ours.
type Folder string

const specificationEnding = ".json"

// Keep writes the specifications, a file for each, and removes our files of kinds that are neither among them nor unknown. The
// files of claims stay: they go with their claims. A file that is right already is not written; a new one replaces the old at
// once. It returns the names of the files that it changed.
func (f Folder) Keep(all []specs.Spec, unknown []string) (changed []string, err error) {
	if len(all) > 0 {
		if err := os.MkdirAll(string(f), 0o755); err != nil { //nolint:gosec // runtimes of any user read it
			return nil, fmt.Errorf("folder of CDI specifications: %w", err)
		}
	}
	var problems []error
	wanted := map[string]bool{}
	for _, kind := range unknown {
		wanted[fileName(kind)] = true
	}
	for i := range all {
		name := fileName(all[i].Kind)
		wanted[name] = true
		written, err := f.write(name, &all[i])
		if written {
			changed = append(changed, name)
		}
		problems = append(problems, err)
	}
	removed, err := f.remove(func(name string) bool { return wanted[name] || isOfClaim(name) })
	return append(changed, removed...), errors.Join(append(problems, err)...)
}

// fileName is made as the CDI specification recommends: vendor-class.json.
func fileName(kind string) string { return strings.ReplaceAll(kind, "/", "-") + specificationEnding }

func (f Folder) write(name string, spec *specs.Spec) (bool, error) {
	content, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return false, fmt.Errorf("CDI kind %s: %w", spec.Kind, err)
	}
	changed, err := disk.Replace(disk.Node{}, filepath.Join(string(f), name), append(content, '\n'), 0o644) // runtimes of any user read it
	if err != nil {
		return changed, fmt.Errorf("CDI kind %s: %w", spec.Kind, err)
	}
	return changed, nil
}

// Driver returns what containers need of NVIDIA's driver, as the specification in the folder says, so that an agent that starts
// goes on from what the agent before it found; nil where there is no such specification.
func (f Folder) Driver() *Driver {
	content, err := os.ReadFile(filepath.Join(string(f), fileName(cdiVendor+"/nvidia-gpu")))
	if err != nil {
		return nil
	}
	driver, _ := ParseDriver(content) // one that cannot be read is found anew
	return driver
}

// Clear removes all that is ours, and returns the names of what it removed.
func (f Folder) Clear() (removed []string, err error) {
	return f.remove(func(string) bool { return false })
}

// isOfClaim says whether a file is of a claim.
func isOfClaim(name string) bool {
	return strings.HasPrefix(name, claimPrefix) && strings.HasSuffix(name, specificationEnding)
}

// remove deletes what is ours and does not stay, files left over from a crash included.
func (f Folder) remove(stays func(name string) bool) (removed []string, err error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("folder of CDI specifications: %w", err)
	}
	var problems []error
	for _, entry := range entries {
		name := entry.Name()
		ours := strings.HasPrefix(name, cdiVendor+"-") &&
			(strings.HasSuffix(name, specificationEnding) || strings.HasSuffix(name, disk.Unfinished))
		if !ours || stays(name) {
			continue
		}
		if err := os.Remove(filepath.Join(string(f), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Errorf("CDI specification that is no longer needed: %w", err))
			continue
		}
		if strings.HasSuffix(name, specificationEnding) {
			removed = append(removed, name)
		}
	}
	return removed, errors.Join(problems...)
}
