package host

import (
	"fmt"
	"strings"

	"k8s.io/utils/cpuset"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// inGroups puts spots together until they are few enough: first ports that are equally near to every device, which loses
// nothing, then all spots of one class.
func inGroups(spots []spot, cells [][]relation) (groups []spot, between [][]relation) {
	groups, between = group(spots, cells, func(i int) string {
		if spots[i].nic == "" {
			return spots[i].name
		}
		return spots[i].class + relationsToDevices(spots, cells[i])
	})
	if len(groups) > maxRows {
		return group(spots, cells, func(i int) string { return spots[i].class })
	}
	return groups, between
}

// relationsToDevices is the part of a row that is about devices, as a text.
func relationsToDevices(spots []spot, row []relation) string {
	var text strings.Builder
	for i := range spots {
		if spots[i].nic == "" {
			fmt.Fprint(&text, " ", row[i].word)
		}
	}
	return text.String()
}

// group puts spots with the same key together. Between groups, and inside of one, stands the farthest of the relations of
// their members.
func group(spots []spot, cells [][]relation, key func(int) string) (groups []spot, between [][]relation) {
	members := grouped(len(spots), key)
	for _, list := range members {
		groups = append(groups, groupSpot(spots, list))
	}
	between = make([][]relation, len(groups))
	for i := range groups {
		between[i] = make([]relation, len(groups))
		for j := range groups {
			between[i][j] = farthest(cells, members[i], members[j])
		}
	}
	return groups, between
}

// grouped are the numbers below n of each key, in the order in which the keys come.
func grouped[K comparable](n int, key func(int) K) [][]int {
	var groups [][]int
	at := map[K]int{}
	for i := range n {
		g, ok := at[key(i)]
		if !ok {
			g = len(groups)
			at[key(i)] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

func groupSpot(spots []spot, members []int) spot {
	s := spots[members[0]]
	if len(members) == 1 {
		return s
	}
	var numbers []int
	var names []v1alpha1.DeviceID
	for _, i := range members {
		numbers = append(numbers, spots[i].number)
		names = append(names, v1alpha1.DeviceID(spots[i].id))
	}
	s.name = s.noun + cpuset.New(numbers...).String()
	if len(s.name) > maxGroupName {
		s.name = fmt.Sprintf("%s%d+%d", s.noun, numbers[0], len(numbers)-1)
	}
	s.id = words.Shorten(term.IDs(names), maxMembers)
	s.about = fmt.Sprintf("%dx %s", len(members), s.about)
	return s
}

// maxGroupName keeps the columns narrow: what is longer is called by its first member and the number of the others.
const maxGroupName = 12

// farthest returns the relation of the two members, one of each group, that are farthest from each other. Within one group the
// two are different members where there are such.
func farthest(cells [][]relation, a, b []int) relation {
	far := self
	for _, i := range a {
		for _, j := range b {
			if compareRelations(cells[i][j], far) > 0 {
				far = cells[i][j]
			}
		}
	}
	return far
}
