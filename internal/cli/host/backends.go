package host

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

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
