package host

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// relation is what lies between two spots: a word, what it means, and how far it is.
type relation struct {
	word, meaning string
	rank          int
}

// Ranks of relations: what is linked is nearer than any PCI relation.
const (
	rankSelf = iota
	rankPair
	rankDomain
	rankPCI
)

var self = relation{word: "X", meaning: "the row itself", rank: rankSelf}

var pciMeanings = map[v1alpha1.PCIRelation]string{
	v1alpha1.SameSwitch:      "at most one PCIe switch in between",
	v1alpha1.ManySwitches:    "several PCIe switches, no host bridge",
	v1alpha1.SameRoot:        "a PCIe host bridge",
	v1alpha1.SameNUMA:        "one NUMA node, no host bridge in common",
	v1alpha1.Across:          "the connection between NUMA nodes",
	v1alpha1.UnknownRelation: "not known: neither PCI nor NUMA tells",
}

// pciRelation is the word for what PCI shows. Two ports of one function are next to each other, not one thing.
func pciRelation(r v1alpha1.PCIRelation) relation {
	if r == v1alpha1.SameDevice {
		r = v1alpha1.SameSwitch
	}
	return relation{word: cmp.Or(string(r), "-"), meaning: pciMeanings[r], rank: rankPCI + r.Distance()}
}

// shortKinds are the technologies whose names are too long for a matrix.
var shortKinds = map[string]string{"NVLink": "NV", "NeuronLink": "NL"}

// pairRelation is the word for direct links, with their count: NV18, XGMIx2.
func pairRelation(p v1alpha1.LinkPair) relation {
	word := fmt.Sprintf("%sx%d", p.Kind, p.Count)
	if short, ok := shortKinds[p.Kind]; ok {
		word = fmt.Sprint(short, p.Count)
	}
	return relation{word: word, meaning: words.Counted(p.Count, p.Kind+" link") + " between the two", rank: rankPair}
}

// domainRelation is the word for devices that reach each other in a link domain, by others or by a switch; with the
// links that one device has for the other, where they are known: NV18.
func domainRelation(d *v1alpha1.LinkDomain) relation {
	count := d.Links
	if d.Topology == v1alpha1.TopologyMesh {
		count /= max(int32(len(d.Members))-1, 1)
	}
	word, kind := d.Kind, d.Kind
	if short, ok := shortKinds[d.Kind]; ok {
		word = short
	}
	if d.Generation > 0 {
		kind = fmt.Sprint(kind, " ", d.Generation)
	}
	meaning := fmt.Sprintf("both in one %s domain: %s", kind, strings.ToLower(string(d.Topology)))
	if count > 0 {
		word = fmt.Sprint(word, count)
		meaning += ", " + words.Counted(count, "link")
	}
	return relation{word: word, meaning: meaning, rank: rankDomain}
}

func compareRelations(a, b relation) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.word, b.word))
}

// relate finds what lies between every two spots: the links between them, else their places on PCI.
func relate(status *v1alpha1.AcceleratorInventoryStatus, spots []spot) [][]relation {
	links := linksBetween(&status.Links, spots)
	cells := make([][]relation, len(spots))
	for i := range spots {
		cells[i] = make([]relation, len(spots))
		for j := range spots {
			link, linked := links[[2]int{min(i, j), max(i, j)}]
			switch {
			case i == j:
				cells[i][j] = self
			case linked:
				cells[i][j] = link
			default:
				cells[i][j] = pciRelation(placesRelation(status, &spots[i], &spots[j]))
			}
		}
	}
	return cells
}

func placesRelation(status *v1alpha1.AcceleratorInventoryStatus, a, b *spot) v1alpha1.PCIRelation {
	switch {
	case a.nic == "" && b.nic == "":
		return status.Relation(a.devices[0], b.devices[0])
	case a.nic == "":
		return status.NICRelation(a.devices[0], b.nic)
	case b.nic == "":
		return status.NICRelation(b.devices[0], a.nic)
	default:
		return status.NICPairRelation(a.nic, b.nic)
	}
}

// linksBetween are the links between spots, by their numbers, the smaller one first. A direct pair says more than a domain.
func linksBetween(links *v1alpha1.Links, spots []spot) map[[2]int]relation {
	numbers := map[v1alpha1.DeviceID]int{}
	for i := range spots {
		for _, id := range spots[i].devices {
			numbers[id] = i
		}
	}
	found := map[[2]int]relation{}
	put := func(a, b v1alpha1.DeviceID, r relation) {
		i, okA := numbers[a]
		j, okB := numbers[b]
		if okA && okB && i != j {
			found[[2]int{min(i, j), max(i, j)}] = r
		}
	}
	for i := range links.Domains {
		domain := &links.Domains[i]
		for m, a := range domain.Members {
			for _, b := range domain.Members[m+1:] {
				put(a, b, domainRelation(domain))
			}
		}
	}
	for _, pair := range links.Pairs {
		put(pair.A, pair.B, pairRelation(pair))
	}
	return found
}
