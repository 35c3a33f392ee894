package host

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

func addBackends(command *cobra.Command, o *hostOptions) {
	flags := command.Flags()
	flags.StringSliceVar(&o.backends, "backend", nil, "backends to look by, divided by commas (default all)")
	flags.StringSliceVar(&o.without, "without", nil, "backends to leave out, divided by commas")
	completeList(command, "backend", backendNames)
	completeList(command, "without", backendNames)
}

// chosen are the backends to look by.
func (o *hostOptions) chosen() ([]backend.Backend, error) {
	for flag, names := range map[string][]string{"--backend": o.backends, "--without": o.without} {
		for _, name := range names {
			if known := backendNames(); !slices.Contains(known, name) {
				return nil, term.Usagef("%s %s: no such backend: did you mean %s? There are %s",
					flag, name, words.Nearest(name, known, 1)[0], strings.Join(known, ", "))
			}
		}
	}
	var chosen []backend.Backend
	for _, backend := range detect.Backends() {
		name := backend.Name()
		if (len(o.backends) == 0 || slices.Contains(o.backends, name)) && !slices.Contains(o.without, name) {
			chosen = append(chosen, backend)
		}
	}
	if len(chosen) == 0 {
		return nil, term.Usagef("--backend %s and --without %s leave no backend to look by: name fewer in --without",
			strings.Join(o.backends, ","), strings.Join(o.without, ","))
	}
	return chosen, nil
}

func backendNames() []string {
	var names []string
	for _, backend := range detect.Backends() {
		names = append(names, backend.Name())
	}
	return names
}

// completeList offers values for the last part of a list in the shell, without the values that the list has.
func completeList(command *cobra.Command, flag string, values func() []string) {
	// It fails only for a flag that the command does not have, which the tests of the completion would show.
	_ = command.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		done := typed[:strings.LastIndexByte(typed, ',')+1]
		given := strings.Split(done, ",")
		var offered []string
		for _, value := range values() {
			if !slices.Contains(given, value) {
				offered = append(offered, done+value)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
