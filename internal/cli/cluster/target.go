package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

// Target is what an argument names.
type Target struct {
	Kind, Name string
	// Node is that of a device; empty where the argument does not say it.
	Node string
}

// Kinds of targets.
const (
	APlacement = "mp"
	APod       = "pod"
	ANode      = "node"
	ADevice    = "device"
)

// targetWords are the words for kinds, as kubectl knows them.
var targetWords = map[string]string{
	"mp": APlacement, "modelplacement": APlacement, "modelplacements": APlacement, "modelplacement.rankwright.dev": APlacement,
	"modelplacements.rankwright.dev": APlacement, "pod": APod, "pods": APod, "po": APod, "node": ANode, "nodes": ANode, "no": ANode, "device": ADevice, "devices": ADevice,
}

// examples are what arguments look like.
var targetExamples = map[string]string{APlacement: "mp/NAME", APod: "pod/NAME", ANode: "node/NAME", ADevice: "device/NODE/ID"}

// ParseTarget reads an argument that names something of one of some kinds. Without a kind it is of the first.
func ParseTarget(text string, kinds ...string) (Target, error) {
	word, name, slashed := strings.Cut(text, "/")
	if !slashed {
		word, name = kinds[0], text
	}
	t := Target{Kind: targetWords[strings.ToLower(word)], Name: name}
	if node, id, deeper := strings.Cut(name, "/"); t.Kind == ADevice && deeper {
		t.Node, t.Name = node, id
	}
	if !slices.Contains(kinds, t.Kind) || t.Name == "" || strings.Contains(t.Name, "/") {
		var usage []string
		for _, kind := range kinds {
			usage = append(usage, targetExamples[kind])
		}
		return Target{}, term.Usagef("%q: name %s", text, strings.Join(usage, " or "))
	}
	return t, nil
}

// Placement finds a placement in a namespace.
func (o *Objects) Placement(namespace, name string) (*v1alpha1.ModelPlacement, error) {
	var names []string
	for i := range o.Placements {
		switch p := &o.Placements[i]; {
		case p.Namespace != namespace:
		case p.Name == name:
			return p, nil
		default:
			names = append(names, p.Name)
		}
	}
	err := fmt.Errorf("there is no placement %s in namespace %s%s", name, namespace, Hint(name, names, "name the namespace with -n"))
	return nil, errors.Join(err, o.Permitted(holding.Placements))
}

// Permitted is an error where some of the kinds were not read everywhere.
func (o *Objects) Permitted(kinds ...string) error {
	var hidden []holding.Unseen
	for _, u := range o.Unseen {
		if slices.Contains(kinds, u.Kind) {
			hidden = append(hidden, u)
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	return fmt.Errorf("not permitted: %s: ask for the ClusterRole rankwright-view, bound by a ClusterRoleBinding", UnseenText(hidden))
}

// UnseenText lists kinds that were not read, or only in one namespace.
func UnseenText(list []holding.Unseen) string {
	var nowhere, elsewhere []string
	within := ""
	for _, u := range list {
		if u.Namespace == "" {
			nowhere = append(nowhere, u.Kind)
		} else {
			elsewhere, within = append(elsewhere, u.Kind), u.Namespace
		}
	}
	text := strings.Join(nowhere, ", ")
	if len(elsewhere) == 0 {
		return text
	}
	return strings.TrimPrefix(text+fmt.Sprintf("; outside of namespace %s: %s", within, strings.Join(elsewhere, ", ")), "; ")
}

// OneTarget asks for exactly one argument.
func OneTarget(usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return term.Usagef("%d arguments given: write %s", len(args), usage)
		}
		return nil
	}
}

// Hint ends an error about a name that nothing has: with names that are like it, else with another remedy.
func Hint(name string, names []string, remedy string) string {
	if near := words.Nearest(name, names, 3); len(near) > 0 {
		return ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return ": " + remedy
}
