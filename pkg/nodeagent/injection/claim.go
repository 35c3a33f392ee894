package injection

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tags.cncf.io/container-device-interface/specs-go"
)

// claimKind is the kind of the specifications of claims. Their files have the CDI library's names for specifications of one
// use, vendor-class_id.json (pkg/cdi, GenerateTransientSpecName).
var claimKind, claimPrefix = cdiVendor + "/claim", cdiVendor + "-claim_"

// KeepClaim writes the specification that gives the containers of a ResourceClaim their variables, and returns the qualified
// name of its device. Without variables there is none, and the name is empty.
func (f Folder) KeepClaim(uid string, environment map[string]string) (name string, err error) {
	if len(environment) == 0 {
		return "", f.RemoveClaim(uid)
	}
	if err := checkCDIName(claimKind, uid); err != nil {
		return "", err
	}
	edits := specs.ContainerEdits{}
	for _, variable := range slices.Sorted(maps.Keys(environment)) {
		edits.Env = append(edits.Env, variable+"="+environment[variable])
	}
	spec := specs.Spec{Kind: claimKind, Devices: []specs.Device{{Name: uid, ContainerEdits: edits}}}
	if spec.Version, err = specs.MinimumRequiredVersion(&spec); err != nil {
		return "", fmt.Errorf("CDI kind %s: %w", spec.Kind, err)
	}
	if err := os.MkdirAll(string(f), 0o755); err != nil { //nolint:gosec // runtimes of any user read it
		return "", fmt.Errorf("folder of CDI specifications: %w", err)
	}
	_, err = f.write(claimFile(uid), &spec)
	return claimKind + "=" + uid, err
}

// RemoveClaim removes what KeepClaim wrote, if anything is there.
func (f Folder) RemoveClaim(uid string) error {
	if err := checkCDIName(claimKind, uid); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(string(f), claimFile(uid))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("CDI specification of claim %s: %w", uid, err)
	}
	return nil
}

func claimFile(uid string) string { return claimPrefix + uid + specificationEnding }
