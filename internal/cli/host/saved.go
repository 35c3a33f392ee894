package host

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// savedInventory is an inventory in a file: as the API has it, or as detect prints it, with the readings of each device.
type savedInventory struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   v1alpha1.AcceleratorInventorySpec `json:"spec"`
	Status struct {
		v1alpha1.AcceleratorInventoryStatus `json:",inline"`

		// Devices replace the devices of the status.
		Devices []savedDevice `json:"devices"`
	} `json:"status"`
}

type savedDevice struct {
	v1alpha1.Device `json:",inline"`

	Readings backend.Reading `json:"readings"`
}

// ParseInventory reads an AcceleratorInventory from JSON, with the readings that detect printed. A field that neither has is refused: what
// is written wrongly would silently not count.
func ParseInventory(raw []byte) (*v1alpha1.AcceleratorInventory, backend.Readings, error) {
	var saved savedInventory
	unknown, err := kjson.UnmarshalStrict(raw, &saved)
	if err == nil {
		err = errors.Join(unknown...)
	}
	if err != nil {
		return nil, nil, err
	}
	read := &v1alpha1.AcceleratorInventory{TypeMeta: saved.TypeMeta, ObjectMeta: saved.ObjectMeta, Spec: saved.Spec, Status: saved.Status.AcceleratorInventoryStatus}
	readings := backend.Readings{}
	for i := range saved.Status.Devices {
		d := &saved.Status.Devices[i]
		read.Status.Devices = append(read.Status.Devices, d.Device)
		readings[d.ID] = d.Readings
	}
	return read, readings, nil
}

// inventoryKind is the kind that the file of -f has.
var inventoryKind = v1alpha1.GroupVersion.WithKind("AcceleratorInventory")

// Saved reads the only inventory of a file, or of standard input where it is -.
func Saved(file string, streams term.Streams) (*v1alpha1.AcceleratorInventory, error) {
	found, err := readSaved(file, "", streams)
	switch {
	case err != nil:
		return nil, err
	case len(found) > 1:
		return nil, fmt.Errorf("%s has %d AcceleratorInventories: give a file with the one that is meant, such as that of %s", file, len(found), found[0].inventory.Name)
	}
	return found[0].inventory, nil
}

// saved looks at an inventory in a file in place of a host: the only one, or the one with the name that is asked for.
func (o *hostOptions) saved(streams term.Streams) func(context.Context) (scan, error) {
	return func(context.Context) (scan, error) {
		found, err := readSaved(o.file, o.name, streams)
		switch {
		case err != nil:
			return scan{}, err
		case len(found) > 1:
			return scan{}, fmt.Errorf("%s has %d AcceleratorInventories: choose one with --name, such as %s", o.file, len(found), found[0].inventory.Name)
		}
		return found[0], nil
	}
}

// readSaved reads the inventories of a file, one at least; only those of a name where one is given.
func readSaved(file, name string, streams term.Streams) ([]scan, error) {
	content, err := term.ReadInput(file, streams, term.MaxInput)
	if err != nil {
		return nil, err
	}
	var found []scan
	err = term.EachObject(content, func(head *term.ObjectHead, raw []byte) error {
		if head.GroupVersionKind() != inventoryKind || name != "" && head.Metadata.Name != name {
			return nil
		}
		read, readings, err := ParseInventory(raw)
		if err != nil {
			return fmt.Errorf("%s %s: %w", head.Kind, head.Metadata.Name, err)
		}
		found = append(found, scan{inventory: read, readings: readings})
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case len(found) == 0:
		return nil, fmt.Errorf("%s has no AcceleratorInventory%s: give one, as detect -o yaml prints it", file, ofName(name))
	}
	return found, nil
}

func ofName(name string) string {
	if name == "" {
		return ""
	}
	return " of the name " + name
}
