package sizing

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	kjson "sigs.k8s.io/json"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/site"
)

// CalibrationFlags name what was measured at the site.
type CalibrationFlags struct{ files []string }

// Add adds the flag to a command.
func (f *CalibrationFlags) Add(command *cobra.Command) {
	command.Flags().StringArrayVar(&f.files, "calibration", nil, "`FILE` with what was measured here, as calibrate -o yaml prints it, - for standard input; may be repeated")
	_ = command.MarkFlagFilename("calibration", "yaml", "yml", "json")
}

// Read returns the calibrations of the files.
func (f *CalibrationFlags) Read(streams term.Streams) ([]v1alpha1.SiteCalibration, error) {
	var list []v1alpha1.SiteCalibration
	for _, file := range f.files {
		content, err := term.ReadInput(file, streams, term.MaxInput)
		if err != nil {
			return nil, err
		}
		before := len(list)
		err = term.EachObject(content, func(head *term.ObjectHead, raw []byte) error {
			if head.Kind != "SiteCalibration" || head.APIVersion != v1alpha1.GroupVersion.String() {
				return nil
			}
			read, err := ParseCalibration(raw)
			list = append(list, read)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(list) == before {
			return nil, fmt.Errorf("%s has no SiteCalibration: make one with calibrate -o yaml", file)
		}
	}
	return list, nil
}

// Site returns what the files say; nil where there are none.
func (f *CalibrationFlags) Site(streams term.Streams) (*cost.Site, error) {
	list, err := f.Read(streams)
	if err != nil {
		return nil, err
	}
	return SiteOf(list, streams), nil
}

// SiteOf returns what calibrations say now, and warns of measurements that are left out.
func SiteOf(list []v1alpha1.SiteCalibration, streams term.Streams) *cost.Site {
	if len(list) == 0 {
		return nil
	}
	compiled, failures := site.Compile(list, streams.Clock()())
	for _, err := range failures {
		streams.Tell("warning: a measurement is left out: " + term.Printable(err.Error()))
	}
	return compiled
}

// ParseCalibration reads a calibration. It is saved and edited, so an unknown field is a mistake.
func ParseCalibration(raw []byte) (v1alpha1.SiteCalibration, error) {
	var c v1alpha1.SiteCalibration
	unknown, err := kjson.UnmarshalStrict(raw, &c)
	return c, errors.Join(append(unknown, err)...)
}
