package health

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
)

func counting(reason string, count int64) detect.Signs {
	return detect.Signs{Counters: map[string]int64{reason: count}}
}

func TestSee(t *testing.T) {
	suspicious := detect.Signs{Suspicions: []v1alpha1.DeviceHealth{hot}}
	tests := map[string]struct {
		signs    []detect.Signs
		seen     v1alpha1.DeviceHealth
		want     string
		evidence Evidence
		suspects bool
	}{
		"a counter alone":                     {[]detect.Signs{counting(detect.ReasonPCIFatalErrors, 7)}, well, "", 0, false},
		"a counter that stays":                {[]detect.Signs{counting(detect.ReasonPCIFatalErrors, 7), counting(detect.ReasonPCIFatalErrors, 7)}, well, "", 0, false},
		"fatal errors of the bus":             {[]detect.Signs{counting(detect.ReasonPCIFatalErrors, 0), counting(detect.ReasonPCIFatalErrors, 1)}, well, detect.ReasonPCIFatalErrors, 0, false},
		"other errors of the bus":             {[]detect.Signs{counting(detect.ReasonPCINonFatalErrors, 0), counting(detect.ReasonPCINonFatalErrors, 1)}, well, detect.ReasonPCINonFatalErrors, 0, false},
		"counters begin anew":                 {[]detect.Signs{counting(detect.ReasonUncorrectable, 3), counting(detect.ReasonUncorrectable, 0)}, well, "", CountersAnew, false},
		"suspected once":                      {[]detect.Signs{suspicious}, well, "", 0, true},
		"suspected twice":                     {[]detect.Signs{suspicious, suspicious}, well, "Overheated", 0, false},
		"suspected, not, and again":           {[]detect.Signs{suspicious, {}, suspicious}, well, "", 0, true},
		"what is worse stays":                 {[]detect.Signs{suspicious, suspicious}, lost, "GPULost", 0, false},
		"the driver asks for nothing":         {[]detect.Signs{{NoActionNeeded: true}}, well, "", NoActionNeeded, false},
		"a counter that came during the life": {[]detect.Signs{{}, counting(detect.ReasonPCIFatalErrors, 1)}, well, "", 0, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var before detect.Signs
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
