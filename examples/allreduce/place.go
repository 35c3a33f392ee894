package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

const maxPort = 65535

// place says where this pod stands in its placement.
type place struct {
	placement, node string
	copied          int
	ranks           []int32
	groups          *launch.Groups
}

// readPlace reads the variables that a bound pod has, and the file of its copy's groups.
func readPlace(getenv func(string) string) (*place, error) {
	p := &place{placement: getenv(launch.VariablePlacement), node: getenv(launch.VariableNode)}
	var err error
	if p.copied, err = strconv.Atoi(getenv(launch.VariableReplica)); err != nil || p.copied < 0 {
		return nil, fmt.Errorf("%s is %q and not the number of a copy: the pod is not bound; label it %s", launch.VariableReplica, getenv(launch.VariableReplica), "rankwright.dev/placement")
	}
	if p.ranks, err = mesh.Ranks(getenv(launch.VariableRanks)).List(mesh.MaxWorldSize); err != nil {
		return nil, fmt.Errorf("%s: %w", launch.VariableRanks, err)
	}
	name := filepath.Join(getenv(launch.VariableFolder), launch.GroupsFile(p.copied))
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: set spec.launch.launcher of the placement to groups", err)
	}
	if err != nil {
		return nil, err
	}
	if p.groups, err = launch.ParseGroups(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if plan := getenv(launch.VariablePlan); p.groups.Plan != plan {
		return nil, fmt.Errorf("%s is of plan %s and this pod of %s: start again, the other file is about to come", name, p.groups.Plan, plan)
	}
	if last, world := p.ranks[len(p.ranks)-1], len(p.groups.Hosts); int(last) >= world {
		return nil, fmt.Errorf("%s has %d ranks, and this pod rank %d", name, world, last)
	}
	return p, nil
}

// addresses returns where each rank of the copy is reached, by rank. Ranks of one host have consecutive ports from port on.
func (p *place) addresses(port int) ([]string, error) {
	before := map[string]int{}
	addresses := make([]string, len(p.groups.Hosts))
	for rank, host := range p.groups.Hosts {
		own := port + before[host]
		if own > maxPort {
			return nil, fmt.Errorf("rank %d would need port %d: give a lower -port", rank, own)
		}
		addresses[rank] = net.JoinHostPort(host, strconv.Itoa(own))
		before[host]++
	}
	return addresses, nil
}

// config names the copy by its plan, so that ranks of another plan are refused.
func (p *place) config(rank int32, addresses []string, key []byte) collective.Config {
	return collective.Config{
		Rank: int(rank), Addresses: addresses, Key: key, Mesh: fmt.Sprintf("%s/%s/%d", p.placement, p.groups.Plan, p.copied),
	}
}
