package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// target is what an argument names.
type target struct {
	kind, name string
	// node is that of a device; empty where the argument does not say it.
	node string
}

// Kinds of targets.
const (
	placementTarget = "mp"
	nodeTarget      = "node"
	deviceTarget    = "device"
)

// targetWords are the words for kinds, as kubectl knows them.
var targetWords = map[string]string{
	"mp": placementTarget, "modelplacement": placementTarget, "modelplacements": placementTarget, "modelplacement.rankwright.dev": placementTarget,
	"modelplacements.rankwright.dev": placementTarget, "node": nodeTarget, "nodes": nodeTarget, "no": nodeTarget, "device": deviceTarget, "devices": deviceTarget,
}

// examples are what arguments look like.
var targetExamples = map[string]string{placementTarget: "mp/NAME", nodeTarget: "node/NAME", deviceTarget: "device/NODE/ID"}

// parseTarget reads an argument that names something of one of some kinds. Without a kind it is of the first.
func parseTarget(text string, kinds ...string) (target, error) {
	word, name, slashed := strings.Cut(text, "/")
	if !slashed {
		word, name = kinds[0], text
	}
	t := target{kind: targetWords[strings.ToLower(word)], name: name}
	if node, id, deeper := strings.Cut(name, "/"); t.kind == deviceTarget && deeper {
		t.node, t.name = node, id
	}
	if !slices.Contains(kinds, t.kind) || t.name == "" || strings.Contains(t.name, "/") {
		var usage []string
		for _, kind := range kinds {
			usage = append(usage, targetExamples[kind])
		}
		return target{}, term.Usagef("%q: name %s", text, strings.Join(usage, " or "))
	}
	return t, nil
}

// placementNamed finds a placement in a namespace.
func placementNamed(list []v1alpha1.ModelPlacement, namespace, name string) (*v1alpha1.ModelPlacement, error) {
	var names []string
	for i := range list {
		if list[i].Namespace != namespace {
			continue
		}
		if list[i].Name == name {
			return &list[i], nil
		}
		names = append(names, list[i].Name)
	}
	return nil, fmt.Errorf("there is no placement %s in namespace %s%s", name, namespace, hint(name, names, "name the namespace with -n"))
}

// hint ends an error about a name that nothing has: with names that are like it, else with another remedy.
func hint(name string, names []string, remedy string) string {
	if near := words.Nearest(name, names, 3); len(near) > 0 {
		return ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return ": " + remedy
}
