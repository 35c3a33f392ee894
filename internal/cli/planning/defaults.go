package planning

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// setDefaults fills in what the API server would: the defaults of the ModelPlacement's schema. A test holds it to the
// generated schema.
func setDefaults(p *v1alpha1.ModelPlacement) {
	s := &p.Spec
	orDefault(&s.Quantization, v1alpha1.QuantizationAuto)
	orDefault(&s.KVCacheType, v1alpha1.KVCacheAuto)
	orDefault(&s.Engine, engine.Default)
	f := &s.FailurePolicy
	orDefault(&f.Action, v1alpha1.FailureAnyShape)
	orPointer(&f.NodeNotReadySeconds, 300)
	orPointer(&f.NodeTaintedSeconds, 0)
	orPointer(&f.NodeDrainedSeconds, 60)
	orPointer(&f.DeviceUnhealthySeconds, 0)
	orPointer(&f.DeviceOccupiedSeconds, 60)
	if f.Drain != nil {
		orPointer(&f.Drain.TimeoutSeconds, 3600)
	}
	orDefault(&s.Enforcement, v1alpha1.EnforcementAdvisory)
	orPointer(&s.RevisionHistoryLimit, 10)
	orPointer(&s.ProgressDeadlineSeconds, 600)
	orPointer(&s.RevisionHistoryLimit, 10)
	if a := s.Model.Architecture; a != nil {
		orPointer(&a.NormsPerLayer, 2)
	}
	if c := s.Model.ConfigMap; c != nil {
		orDefault(&c.Key, "config.json")
	}
	if i := s.Workload.Inference; i != nil {
		orDefault(&i.Objective, v1alpha1.ObjectiveThroughput)
	}
	if t := s.Workload.Training; t != nil {
		orDefault(&t.Method, "Full")
		orDefault(&t.Optimizer, "AdamW")
		orDefault(&t.MicroBatch, 1)
		orDefault(&t.Sharding, "None")
	}
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func orPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
