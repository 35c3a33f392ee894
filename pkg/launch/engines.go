package launch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// engineLaunchers are the launchers of each engine. The first must be able to start the placement; the others are added where
// they can.
var engineLaunchers = map[v1alpha1.Engine][]*launcher{
	v1alpha1.EngineVLLM:        {&vllm},
	v1alpha1.EngineSGLang:      {&sglang},
	v1alpha1.EngineTensorRTLLM: {&tensorRTLLM},
	v1alpha1.EngineMegatron:    {&megatron},
	v1alpha1.EngineDeepSpeed:   {&deepSpeed, &plainEnv},
	v1alpha1.EngineTorch:       {&plainEnv, &torchrun},
	v1alpha1.EngineJAX:         {&jax},
	v1alpha1.EngineMPI:         {&openMPI, &hydra},
}

// vendorLaunchers are added where the devices are of the vendor.
var vendorLaunchers = map[string]*launcher{google: &tpu, amazon: &neuron, huawei: &hccl}

// ForEngine writes a placement down for the launchers of its engine and of its devices' runtime. What the engine can do
// without is left out where it is not possible, with the reason.
func (j *Job) ForEngine() (*Bundle, error) {
	engine := j.Engine
	if engine == "" {
		engine = v1alpha1.EngineVLLM
	}
	candidates := slices.Clone(engineLaunchers[engine])
	if len(candidates) == 0 {
		return nil, fmt.Errorf("engine %q has no launcher: name one of %s", engine, strings.Join(Names(), ", "))
	}
	if l := vendorLaunchers[vendorOf(&j.Copies[0])]; l != nil {
		candidates = append(candidates, l)
	}
	var used []*launcher
	var skipped []string
	for i, l := range candidates {
		err := j.able(l)
		switch {
		case err == nil:
			used = append(used, l)
		case i == 0:
			return nil, err
		default:
			skipped = append(skipped, err.Error())
		}
	}
	b, err := j.bundle(used...)
	if err != nil {
		return nil, err
	}
	b.Skipped = skipped
	return b, nil
}

// able says why a launcher cannot start the placement, or lacks something for its files.
func (j *Job) able(l *launcher) error {
	if err := j.can(l); err != nil {
		return err
	}
	for i := range j.Copies {
		if _, err := j.shared(&j.Copies[i], []*launcher{l}); err != nil {
			return err
		}
	}
	return nil
}
