package scale

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// models are what placements ask for, in turn: one device, two, and a tensor group of four.
var models = []struct {
	name   string
	tensor int32
}{{"Llama-3.1-8B", 1}, {"Qwen2.5-32B", 2}, {"Llama-3.1-70B", 4}}

// grace is for how many seconds placements bear a node that is not ready.
const grace = 5

// Placement is the number-th of a series, which fits on a node as long as there is room.
func Placement(series string, number int) *v1alpha1.ModelPlacement {
	of := models[number%len(models)]
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: Home, Name: fmt.Sprintf("%s%05d", series, number)}}
	p.Spec = v1alpha1.ModelPlacementSpec{
		Model:         v1alpha1.ModelSource{Name: &of.name},
		Workload:      v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 4096, MaxSequences: 8}},
		Parallelism:   &v1alpha1.Parallelism{Tensor: &of.tensor},
		FailurePolicy: v1alpha1.FailurePolicy{NodeNotReadySeconds: ptr.To(int32(grace))},
	}
	return p
}

// Unplaceable is the number-th of a series that cannot be placed. Every tenth is dear to refuse: each shape on each device is looked at.
func Unplaceable(series string, number int) *v1alpha1.ModelPlacement {
	p := Placement(series, number)
	if number%10 != 0 {
		p.Spec.Devices = &v1alpha1.DeviceRequirements{Products: []string{"NVIDIA GB300"}}
		return p
	}
	p.Spec.Parallelism, p.Spec.Replicas = nil, ptr.To(int32(1024))
	p.Spec.Model.Name = ptr.To("Llama-3.1-405B")
	p.Spec.Workload.Inference.MaxTPOTMillis = ptr.To(int32(1))
	return p
}
