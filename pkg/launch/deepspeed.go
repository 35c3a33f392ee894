package launch

import (
	"encoding/json"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// deepSpeed is the `deepspeed` command, which numbers ranks by the order of the host file; each pod starts its own with
// --no_ssh. A PipelineModule divides its layers by itself, and as the plan does with partition_method="uniform" alone: its
// default weighs them by parameters. Sources: deepspeed/launcher/runner.py (_parse_hostfile, --no_ssh, --node_rank),
// deepspeed/runtime/utils.py (partition_uniform).
var deepSpeed = launcher{
	name:  "deepspeed",
	of:    ofDeepSpeed,
	check: (*Copy).inOrder, listsHosts: true,
	files: func(_ *Job, c *Copy) ([]File, error) {
		hosts := []File{{c.fileName("deepspeed-hostfile"), openMPIHosts(c)}}
		if c.Training == nil {
			return hosts, nil
		}
		settings, err := deepSpeedSettings(c)
		return append(hosts, File{c.fileName(deepSpeedFile), settings}), err
	},
	shared: func(c *Copy, e *Environment) {
		e.program(c)
		if c.Training != nil {
			e.set(variableDeepSpeed, c.path(deepSpeedFile))
		}
		w := command{of: ofDeepSpeed, Environment: e}
		w.tell(engine.ForHostFile, c.path("deepspeed-hostfile"))
		w.tell(engine.ForHead, c.head().Host)
		w.tell(engine.ForPort, c.port(torchPort))
	},
	pod: func(c *Copy, p *Pod, e *Environment) {
		if len(c.Pods) > 1 {
			w := command{of: ofDeepSpeed, Environment: e}
			w.tell(engine.ForNoShell, nil)
			w.tell(engine.ForNode, p.Worker)
		}
	},
}

// deepSpeedFile is the name of the configuration that a program gives deepspeed.initialize.
const deepSpeedFile = "deepspeed.json"

// zeroStages are the stages of ZeRO; FSDP shares out what the last one does.
var zeroStages = map[v1alpha1.TrainingSharding]int{"ZeRO1": 1, "ZeRO2": 2, "ZeRO3": 3, "FSDP": 3}

// deepSpeedSettings is the configuration, as far as the plan has it: optimizer and schedule are the program's.
func deepSpeedSettings(c *Copy) (string, error) {
	w := &command{of: ofDeepSpeed, Environment: &Environment{}}
	w.tell(engine.ForGlobalBatch, c.Training.GlobalBatch)
	w.tell(engine.ForMicroBatch, max(1, c.Training.MicroBatch))
	w.tell(engine.ForSharding, zeroStages[c.Training.Sharding])
	switch c.sixteenBits() {
	case v1alpha1.BF16:
		w.tell(engine.ForBF16, true)
	case v1alpha1.FP16:
		w.tell(engine.ForFP16, true)
	}
	return w.json()
}

// json returns the keys, whose values are numbers and truths, as a configuration file, checked by the table.
func (w *command) json() (string, error) {
	settings := map[string]any{}
	for _, k := range w.keys {
		if err := w.of.Arguments.CheckSetting(k.Name, k.Value); err != nil {
			return "", err
		}
		if outer, name, nested := strings.Cut(k.Name, "."); nested {
			settings[outer] = map[string]json.RawMessage{name: json.RawMessage(k.Value)} // the table has one key within each
		} else {
			settings[outer] = json.RawMessage(k.Value)
		}
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	return string(text) + "\n", err
}
