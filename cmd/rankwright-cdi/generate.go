//go:build linux && cgo

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/transform/root"
	"tags.cncf.io/container-device-interface/specs-go"
)

// generation says where to look: host is the folder of the node's file tree; driverRoot and hook are paths in that tree.
type generation struct {
	host, driverRoot, hook string
}

// run returns a CDI specification as JSON. What is found and what is missing goes to log.
func (o generation) run(log io.Writer) ([]byte, error) {
	node := openNode(o.host)
	driver, err := node.findDriver(o.driverRoot)
	if err != nil {
		return nil, err
	}
	hook, err := node.findHook(o.hook)
	if err != nil {
		return nil, err
	}
	spec, err := generate(path.Join(o.host, driver.root), driver.root, hook, newLogger(log))
	if err != nil {
		return nil, fmt.Errorf("driver %s below %s: %w", driver.version, driver.root, err)
	}
	return json.Marshal(spec)
}

// generate asks NVIDIA's package. The driver is below `below` for this program and below root for the node. What a GPU has for
// itself, its nodes, is not asked for: the inventory tells them, and one GPU that is lost would cost all others their driver.
func generate(below, driverRoot string, hook hookProgram, log *logger) (*specs.Spec, error) {
	library, err := nvcdi.New(
		nvcdi.WithLogger(log),
		nvcdi.WithMode(nvcdi.ModeNvml),
		nvcdi.WithDriverRoot(below),
		nvcdi.WithDevRoot("/"),
		nvcdi.WithNVIDIACDIHookPath(hook.path),
		nvcdi.WithLdconfigPath(hook.ldconfig),
		nvcdi.WithDisabledHooks(hook.unknown...),
		// A second library of the driver that could hang, for what the first one tells, too.
		nvcdi.WithFeatureFlags(nvcdi.FeatureDisableNvsandboxUtils),
	)
	if err != nil {
		return nil, err
	}
	edits, err := library.GetCommonEdits()
	if err != nil {
		return nil, err
	}
	if edits == nil || edits.ContainerEdits == nil {
		return nil, errors.New("nothing was found that containers need")
	}
	spec := &specs.Spec{Kind: "nvidia.com/gpu", ContainerEdits: *edits.ContainerEdits}
	spec.ContainerEdits.DeviceNodes = nil
	spec.ContainerEdits.AdditionalGIDs = nil
	moved := root.NewDriverTransformer(
		root.WithDriverRoot(below), root.WithTargetDriverRoot(driverRoot), root.WithDevRoot("/"), root.WithTargetDevRoot("/"),
	)
	if err := moved.Transform(spec); err != nil {
		return nil, err
	}
	if spec.Version, err = specs.MinimumRequiredVersion(spec); err != nil {
		return nil, err
	}
	return spec, nil
}
