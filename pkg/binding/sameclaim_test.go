package binding_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/rankwright/rankwright/pkg/binding"
)

func specOf(expression string, slots ...string) *resourcev1.ResourceClaimSpec {
	exactly := &resourcev1.ExactDeviceRequest{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}}
	for _, slot := range slots {
		exactly.Tolerations = append(exactly.Tolerations, resourcev1.DeviceToleration{Key: slot})
	}
	return &resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "rank-0", Exactly: exactly}}}}
}

// A claim whose tolerations an older API server dropped is not made anew again and again.
func TestSameClaim(t *testing.T) {
	made := specOf("a", "slot-0")
	two := specOf("a", "slot-0")
	two.Devices.Requests = append(two.Devices.Requests, two.Devices.Requests[0])
	tests := []struct {
		name  string
		found *resourcev1.ResourceClaimSpec
		want  bool
	}{
		{"as it was made", specOf("a", "slot-0"), true},
		{"without tolerations", specOf("a"), true},
		{"another device", specOf("b", "slot-0"), false},
		{"the slot of another rank", specOf("a", "slot-1"), false},
		{"a request more", two, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := binding.SameClaim(test.found, made); got != test.want {
				t.Errorf("same is %t, want %t", got, test.want)
			}
			if len(made.Devices.Requests[0].Exactly.Tolerations) != 1 {
				t.Error("the claim to be made was changed")
			}
		})
	}
}
