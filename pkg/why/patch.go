package why

import (
	"encoding/json"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// patches are the suggestions of a placement as commands, the best one first. A suggestion for the cluster is none.
func (s *standing) patches() []string {
	if s.Status.Shortfall == nil {
		return nil
	}
	var commands []string
	for i := range s.Status.Shortfall.Suggestions {
		if suggestion := &s.Status.Shortfall.Suggestions[i]; len(suggestion.Edits) > 0 {
			commands = append(commands, commandf("patch mp %s -n %s --type merge -p %s # %s", s.Name, s.Namespace, quoted(merged(suggestion.Edits)), suggestion.Change))
		}
	}
	return commands
}

// changes are the suggestions of a placement in words.
func (s *standing) changes() []string {
	if s.Status.Shortfall == nil {
		return nil
	}
	var texts []string
	for i := range s.Status.Shortfall.Suggestions {
		texts = append(texts, "it would fit with "+s.Status.Shortfall.Suggestions[i].Change)
	}
	return texts
}

// merged are edits as a merge patch.
func merged(edits []v1alpha1.FieldEdit) string {
	root := map[string]any{}
	for _, edit := range edits {
		in, path := root, strings.Split(edit.Path, ".")
		for _, key := range path[:len(path)-1] {
			below, is := in[key].(map[string]any)
			if !is {
				below = map[string]any{}
				in[key] = below
			}
			in = below
		}
		in[path[len(path)-1]] = json.RawMessage(edit.Value)
	}
	text, err := json.Marshal(root)
	if err != nil { // the operator wrote a value that is no JSON
		return "{}"
	}
	return string(text)
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
