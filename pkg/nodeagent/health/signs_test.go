package health

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

func counting(reason string, count int64) backend.Signs {
	return backend.Signs{Counters: map[string]int64{reason: count}}
}

func TestSee(t *testing.T) {
	suspicious := backend.Signs{Suspicions: []v1alpha1.DeviceHealth{hot}}
	tests := map[string]struct {
		signs    []backend.Signs
		seen     v1alpha1.DeviceHealth
		want     string
		evidence Evidence
		suspects bool
	}{
		"a counter alone":                     {[]backend.Signs{counting(pci.ReasonFatalErrors, 7)}, well, "", 0, false},
		"a counter that stays":                {[]backend.Signs{counting(pci.ReasonFatalErrors, 7), counting(pci.ReasonFatalErrors, 7)}, well, "", 0, false},
		"fatal errors of the bus":             {[]backend.Signs{counting(pci.ReasonFatalErrors, 0), counting(pci.ReasonFatalErrors, 1)}, well, pci.ReasonFatalErrors, 0, false},
		"other errors of the bus":             {[]backend.Signs{counting(pci.ReasonNonFatalErrors, 0), counting(pci.ReasonNonFatalErrors, 1)}, well, pci.ReasonNonFatalErrors, 0, false},
		"counters begin anew":                 {[]backend.Signs{counting(backend.ReasonUncorrectable, 3), counting(backend.ReasonUncorrectable, 0)}, well, "", CountersAnew, false},
		"suspected once":                      {[]backend.Signs{suspicious}, well, "", 0, true},
		"suspected twice":                     {[]backend.Signs{suspicious, suspicious}, well, "Overheated", 0, false},
		"suspected, not, and again":           {[]backend.Signs{suspicious, {}, suspicious}, well, "", 0, true},
		"what is worse stays":                 {[]backend.Signs{suspicious, suspicious}, lost, "GPULost", 0, false},
		"the driver asks for nothing":         {[]backend.Signs{{NoActionNeeded: true}}, well, "", NoActionNeeded, false},
		"a counter that came during the life": {[]backend.Signs{{}, counting(pci.ReasonFatalErrors, 1)}, well, "", 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var before backend.Signs
			var got v1alpha1.DeviceHealth
			var evidence Evidence
			var suspects bool
			for _, signs := range tc.signs {
				got, evidence, suspects = See(tc.seen, before, signs)
				before = signs
			}
			if got.Reason != tc.want || evidence != tc.evidence || suspects != tc.suspects {
				t.Errorf("%+v with evidence %q, suspects %t; want %q, %q, %t", got, evidence, suspects, tc.want, tc.evidence, tc.suspects)
			}
		})
	}
}
