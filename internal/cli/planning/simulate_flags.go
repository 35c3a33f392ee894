package planning

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// spec is the cluster that the flags ask for.
func (c *clusterFlags) spec() (synthetic.Spec, error) {
	if len(c.shapes) == 0 {
		return synthetic.Spec{}, term.Usagef("no shape: give one with --shape, such as --shape h100x8=10")
	}
	if c.nodes < 0 {
		return synthetic.Spec{}, term.Usagef("--nodes %d: give from 1 to %d", c.nodes, synthetic.MaxNodes)
	}
	if c.failed < 0 {
		return synthetic.Spec{}, term.Usagef("--fail-nodes %d: give 0 or more", c.failed)
	}
	if !slices.Contains(synthetic.Patterns(), synthetic.Pattern(c.pattern)) {
		return synthetic.Spec{}, term.Usagef("--pattern %s: use one of %v", c.pattern, synthetic.Patterns())
	}
	spec := synthetic.Spec{Pattern: synthetic.Pattern(c.pattern), Seed: c.seed, Failed: c.failed}
	shares := make([]synthetic.Share, len(c.shapes))
	var err error
	for i, text := range c.shapes {
		if shares[i], err = synthetic.ParseShare(text); err != nil {
			return spec, term.Usagef("--shape %s: %w", text, err)
		}
	}
	if spec.Nodes, err = synthetic.Apportion(c.nodes, shares); err != nil {
		return spec, term.Usagef("--shape and --nodes %d: %w", c.nodes, err)
	}
	if spec.Occupied, err = synthetic.ParsePercent(c.occupied); err != nil {
		return spec, term.Usagef("--occupied: %w", err)
	}
	if spec.Added, err = numbers("--add", c.added); err != nil {
		return spec, err
	}
	spec.Removed, err = numbers("--remove", c.removed)
	return spec, err
}

// numbers reads shapes that must have a number of nodes.
func numbers(flag string, texts []string) ([]synthetic.Count, error) {
	counts := make([]synthetic.Count, len(texts))
	for i, text := range texts {
		share, err := synthetic.ParseShare(text)
		if err != nil {
			return nil, term.Usagef("%s %s: %w", flag, text, err)
		}
		if share.Kind != synthetic.Fixed {
			return nil, term.Usagef("%s %s: give a number of nodes, such as %s=2", flag, text, share.Shape.Name)
		}
		counts[i] = synthetic.Count{Shape: share.Shape, Nodes: share.Nodes}
	}
	return counts, nil
}

// asked are the placements that the flags ask for, with their models' ConfigMaps. There may be none.
func (f *simulateFlags) asked(streams term.Streams, changed func(string) bool) (*Manifests, error) {
	read, err := f.read(streams, changed)
	if err != nil {
		return nil, err
	}
	if f.untilFull && len(read.Placements) != 1 {
		return nil, term.Usagef("--until-full with %s: give exactly one", words.Counted(len(read.Placements), "placement"))
	}
	if err := Distinct(read); err != nil {
		return nil, err
	}
	for i := range read.Placements {
		setDefaults(&read.Placements[i])
	}
	return read, nil
}

func (f *simulateFlags) read(streams term.Streams, changed func(string) bool) (*Manifests, error) {
	if f.model.model == "" {
		if err := f.model.alone(changed); err != nil {
			return nil, err
		}
		read, err := ReadManifests(f.placements, streams)
		switch {
		case err != nil:
			return nil, err
		case len(f.placements) > 0 && len(read.Placements) == 0:
			return nil, errors.New("no ModelPlacement in the files of --placement: add one")
		case len(read.Inventories)+len(read.Plans) > 0:
			return nil, errors.New("inventories or plans in the files of --placement: simulate builds a cluster of its own; plan those with plan -f")
		}
		return read, nil
	}
	if len(f.placements) > 0 {
		return nil, term.Usagef("--model %s and --placement: give one of them", f.model.model)
	}
	return f.model.manifests(streams, changed)
}

// describe says what was built, in the words of the flags.
func describe(flags *clusterFlags, spec *synthetic.Spec, nodes int) SimulatedCluster {
	return SimulatedCluster{
		Nodes: nodes, FailedNodes: spec.Failed, Occupied: spec.Occupied.String(), Pattern: string(spec.Pattern), Seed: spec.Seed,
		Added: flags.added, Removed: flags.removed,
	}
}

// title is a line about the cluster for people.
func (c *SimulatedCluster) title() string {
	parts := []string{words.Counted(c.Nodes, "node")}
	if c.Occupied != "0%" {
		parts = append(parts, fmt.Sprintf("%s of the devices held (%s)", c.Occupied, c.Pattern))
	}
	if c.FailedNodes > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", c.FailedNodes))
	}
	if len(parts) > 1 {
		parts = append(parts, fmt.Sprintf("seed %d", c.Seed))
	}
	for _, text := range c.Added {
		parts = append(parts, "+"+text)
	}
	for _, text := range c.Removed {
		parts = append(parts, "-"+text)
	}
	return strings.Join(parts, ", ")
}
