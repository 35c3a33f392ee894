package launch

import "encoding/json"

// program tells a program that takes no arguments of ours what its plan counts on: the checkpoint, the format of the weights, the degrees, the layers
// of each stage and, in training, the job in the words of the API. Nothing tells how many copies there are, so that those that run stay as they are
// where another one comes.
func (e *Environment) program(c *Copy) {
	e.checkpoint(c)
	if c.model.Revision != "" {
		e.set(variableRevision, c.model.Revision)
	}
	if c.quantization != "" {
		e.set(variableWeights, c.quantization)
	}
	s := &c.Strategy
	e.setJSON(variableDegrees, map[string]int32{"tensor": s.Tensor, "pipeline": s.Pipeline, "data": s.Data, "expert": s.Expert, "context": s.Context})
	e.set(variableSplit, numbers(c.Split))
	if c.Training != nil {
		e.setJSON(variableTraining, c.Training)
	}
}

// checkpoint tells the checkpoint that the plan was made for, where it is known.
func (e *Environment) checkpoint(c *Copy) {
	if c.model.Checkpoint != "" {
		e.set(variableCheckpoint, c.model.Checkpoint)
	}
}

func (e *Environment) setJSON(name string, object any) {
	text, _ := json.Marshal(object) // of plain values, which cannot fail
	e.set(name, string(text))
}
