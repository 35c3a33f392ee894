package cluster

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// completion is where the names of a kind of targets are found: what is read, and the names of it.
type completion struct {
	reads string
	names func(o *Objects, within string) []string
}

var completions = map[string]completion{
	APlacement: {holding.Placements, func(o *Objects, within string) []string {
		var names []string
		for i := range o.Placements {
			if o.Placements[i].Namespace == within {
				names = append(names, o.Placements[i].Name)
			}
		}
		return names
	}},
	APod: {holding.Pods, func(o *Objects, within string) []string {
		var names []string
		for i := range o.Pods {
			if o.Pods[i].Namespace == within {
				names = append(names, o.Pods[i].Name)
			}
		}
		return names
	}},
	ANode: {holding.Inventories, func(o *Objects, _ string) []string {
		var names []string
		for i := range o.Inventories {
			names = append(names, o.Inventories[i].Name)
		}
		return names
	}},
	ADevice: {holding.Inventories, func(o *Objects, _ string) []string {
		var names []string
		for i := range o.Inventories {
			for k := range o.Inventories[i].Status.Devices {
				names = append(names, o.Inventories[i].Name+"/"+string(o.Inventories[i].Status.Devices[k].ID))
			}
		}
		return names
	}},
}

// Complete has the shell complete arguments that name something of some kinds: first the kind, then what of it the cluster has. Where the cluster
// cannot be asked nothing is offered.
func (f *Flags) Complete(command *cobra.Command, kinds ...string) {
	command.ValidArgsFunction = func(command *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		word, _, slashed := strings.Cut(text, "/")
		var offers []string
		for _, kind := range kinds {
			switch {
			case !slashed:
				offers = append(offers, kind+"/")
			case targetWords[strings.ToLower(word)] == kind:
				return f.offers(command, completions[kind], word+"/", text), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return startingWith(offers, text), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func (f *Flags) offers(command *cobra.Command, of completion, head, text string) []string {
	silent := term.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	in, err := f.Connect(silent)
	if err != nil {
		return nil
	}
	objects, err := in.Read(command.Context(), silent, of.reads)
	if err != nil {
		return nil
	}
	var offers []string
	for _, name := range of.names(objects, in.Namespace) {
		offers = append(offers, head+name)
	}
	return startingWith(offers, text)
}

func startingWith(words []string, text string) []string {
	var list []string
	for _, word := range words {
		if strings.HasPrefix(word, text) {
			list = append(list, word)
		}
	}
	return list
}
