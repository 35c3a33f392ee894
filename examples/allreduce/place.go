package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

const (
	maxPort = 65535
	maxRank = 1 << 20
)

// place says where this pod stands in its placement.
type place struct {
	placement, node string
	copied          int
	ranks           []int
	groups          *launch.Groups
}

// readPlace reads the variables that a bound pod has, and the file of its copy's groups.
func readPlace(getenv func(string) string) (*place, error) {
	p := &place{placement: getenv(launch.VariablePlacement), node: getenv(launch.VariableNode)}
	var err error
	if p.copied, err = strconv.Atoi(getenv(launch.VariableReplica)); err != nil || p.copied < 0 {
		return nil, fmt.Errorf("%s is %q and not the number of a copy: the pod is not bound; label it %s", launch.VariableReplica, getenv(launch.VariableReplica), "rankwright.dev/placement")
	}
	if p.ranks, err = parseRanks(getenv(launch.VariableRanks)); err != nil {
		return nil, fmt.Errorf("%s: %w", launch.VariableRanks, err)
	}
	name := filepath.Join(getenv(launch.VariableFolder), launch.GroupsFile(p.copied))
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: annotate the placement with %s: groups", err, launch.AnnotationLauncher)
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
	if last, world := p.ranks[len(p.ranks)-1], len(p.groups.Hosts); last >= world {
		return nil, fmt.Errorf("%s has %d ranks, and this pod rank %d", name, world, last)
	}
	return p, nil
}

// parseRanks reads ranks as runs in ascending order: 0-3,8.
func parseRanks(text string) ([]int, error) {
	var ranks []int
	for run := range strings.SplitSeq(text, ",") {
		from, to, isRun := strings.Cut(run, "-")
		if !isRun {
			to = from
		}
		first, err := parseRank(from)
		if err != nil {
			return nil, err
		}
		last, err := parseRank(to)
		if err != nil {
			return nil, err
		}
		if last < first || len(ranks) > 0 && first <= ranks[len(ranks)-1] {
			return nil, fmt.Errorf("%q is not in ascending order", text)
		}
		for rank := first; rank <= last; rank++ {
			ranks = append(ranks, rank)
		}
	}
	return ranks, nil
}

func parseRank(text string) (int, error) {
	rank, err := strconv.Atoi(text)
	if err != nil || rank < 0 || rank > maxRank {
		return 0, fmt.Errorf("%q is no rank from 0 to %d", text, maxRank)
	}
	return rank, nil
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
func (p *place) config(rank int, addresses []string, key []byte) collective.Config {
	return collective.Config{
		Rank: rank, Addresses: addresses, Key: key, Mesh: fmt.Sprintf("%s/%s/%d", p.placement, p.groups.Plan, p.copied),
	}
}
