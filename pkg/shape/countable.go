package shape

import "strings"

// Countable says what keeps the memory of the request from being counted on any device: a number out of range that the
// model of memory names. It is asked only where nothing was found, which is what such a number comes to.
func (t *Problem) Countable() error {
	_, err := t.Tier(Setting{t.Ladder[len(t.Ladder)-1], Variant{Lean: true}}).count(-1, Shape{Tensor: 1, Stages: 1, Data: 1, Expert: 1})
	if err == nil {
		return nil
	}
	// The message begins with the field: `inference.sequences 5000000 is out of range: use 1 to 1048576`.
	field, rest, _ := strings.Cut(err.Error(), " ")
	if strings.HasPrefix(field, "inference.") || strings.HasPrefix(field, "training.") {
		field = "workload." + field
	}
	value, remedy, found := strings.Cut(rest, ": ")
	if !found {
		return invalid("workload", rest, "correct it")
	}
	return invalid(field, value, remedy)
}
