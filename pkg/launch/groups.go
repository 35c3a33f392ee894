package launch

import (
	"errors"
	"fmt"

	"github.com/rankwright/rankwright/internal/strict"
)

// groupsFile is the name of a copy's file of groups, without the prefix that tells copies apart.
const groupsFile = "groups.json"

// Groups are what a program needs that makes its process groups by itself: the file of the launcher `groups`.
type Groups struct {
	// Plan names the plan, so that a pod of another plan notices that the file is not for it.
	Plan string `json:"plan"`
	// Hosts are where the ranks of the copy are reached, in their order.
	Hosts []string `json:"hosts"`
	// Kinds are the groups of two ranks and more, by their kind: world, tp, dp and so on. A rank is in at most one of a kind.
	Kinds map[string][][]int32 `json:"groups"`
}

// groups is for programs that know no launcher. The other launchers tell ranks and degrees and leave it to the engine which
// groups follow.
var groups = launcher{
	name: "groups",
	files: func(_ *Job, c *Copy) ([]File, error) {
		g, err := c.groups()
		if err != nil {
			return nil, err
		}
		return c.jsonFile(groupsFile, g)
	},
}

// GroupsFile returns the key of the file with a copy's groups.
func GroupsFile(copied int) string { return (&Copy{Number: copied}).fileName(groupsFile) }

func (c *Copy) groups() (*Groups, error) {
	g := &Groups{Plan: c.plan, Hosts: make([]string, c.World), Kinds: map[string][][]int32{}}
	for i := range c.Pods {
		for _, rank := range c.Pods[i].Ranks {
			g.Hosts[rank] = c.Pods[i].Host
		}
	}
	for i := range c.mesh.Shape.Groups {
		kind := &c.mesh.Shape.Groups[i]
		if kind.Size < 2 {
			continue
		}
		ranks, err := c.mesh.RanksOf(kind.Name)
		if err != nil {
			return nil, err
		}
		g.Kinds[kind.Name] = ranks
	}
	return g, nil
}

// ParseGroups reads a file of groups. It refuses fields that are not known, ranks without a host, and ranks that are in two
// groups of a kind.
func ParseGroups(text []byte) (*Groups, error) {
	g, err := strict.JSON[Groups](text)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	if len(g.Hosts) == 0 {
		return nil, errors.New("groups: hosts is empty: every rank needs one")
	}
	for rank, host := range g.Hosts {
		if host == "" {
			return nil, fmt.Errorf("groups: hosts[%d] is empty: every rank needs a host", rank)
		}
	}
	for kind, list := range g.Kinds {
		if err := apart(list, len(g.Hosts)); err != nil {
			return nil, fmt.Errorf("groups: %s: %w", kind, err)
		}
	}
	return g, nil
}

// apart says whether groups have ranks of the world alone, and each in one group.
func apart(list [][]int32, world int) error {
	seen := make([]bool, world)
	for i, group := range list {
		if len(group) == 0 {
			return fmt.Errorf("group %d is empty", i)
		}
		for _, rank := range group {
			switch {
			case rank < 0 || int(rank) >= world:
				return fmt.Errorf("group %d has rank %d: with %d hosts it must be 0 to %d", i, rank, world, world-1)
			case seen[rank]:
				return fmt.Errorf("group %d has rank %d, which is in a group before", i, rank)
			}
			seen[rank] = true
		}
	}
	return nil
}
