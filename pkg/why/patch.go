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
		suggestion := &s.Status.Shortfall.Suggestions[i]
		if command := PatchCommand(s.ModelPlacement, suggestion.Edits); command != "" {
			commands = append(commands, command+" # "+suggestion.Change)
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

// suspend is the command by which a placement gives its devices back, and stays.
func suspend(namespace, name string) string {
	return commandf(`patch mp %s -n %s --type merge -p '{"spec":{"suspend":true}}'`, name, namespace)
}

// PatchCommand is the command that makes edits of a placement. It is empty where there are none, and where a merge patch cannot express them: it
// cannot change one item of a list.
func PatchCommand(p *v1alpha1.ModelPlacement, edits []v1alpha1.FieldEdit) string {
	patch, ok := merged(edits)
	if !ok {
		return ""
	}
	namespace := ""
	if p.Namespace != "" {
		namespace = " -n " + p.Namespace
	}
	return commandf("patch mp %s%s --type merge -p %s", p.Name, namespace, Quoted(patch))
}

// merged are edits as a merge patch; false where there is none.
func merged(edits []v1alpha1.FieldEdit) (patch string, ok bool) {
	root := map[string]any{}
	for _, edit := range edits {
		if strings.ContainsAny(edit.Path, "[]'\"\\") || !json.Valid([]byte(edit.Value)) {
			return "", false
		}
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
	return string(text), err == nil && len(edits) > 0
}

// Quoted is a text as one word of a shell.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
