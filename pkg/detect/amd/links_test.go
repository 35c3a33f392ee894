package amd

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// linkedCards composes one MI300X for each row of a matrix of rates in MB/s; -1 is no direct link.
func linkedCards(rates [][]int64) []amdCard {
	cards := make([]amdCard, len(rates))
	for a := range cards {
		cards[a] = amdCard{parts: 1, gfx: "gfx942", nodes: []kfdNode{{number: a + 10}}}
		cards[a].Address = fmt.Sprintf("0000:%02x:00.0", a)
		for b, rate := range rates[a] {
			if a != b && rate >= 0 {
				cards[a].nodes[0].links = append(cards[a].nodes[0].links,
					kfdLink{to: b + 10, kind: kfdLinkXGMI, weight: kfdWeightHop, maxMBps: rate})
			}
		}
	}
	return cards
}

// matrix has the rate between every two of n cards that are linked.
func matrix(n int, rate func(a, b int) int64) [][]int64 {
	rows := make([][]int64, n)
	for a := range rows {
		rows[a] = make([]int64, n)
		for b := range rows[a] {
			rows[a][b] = rate(min(a, b), max(a, b))
		}
	}
	return rows
}

func cardID(card int) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(fmt.Sprintf("amd-0000:%02x:00.0", card))
}

func TestAMDLinks(t *testing.T) {
	quads := func(a, b int) int64 {
		switch {
		case a/4 == b/4:
			return 50_000
		case a%4 == b%4:
			return 100_000
		default:
			return -1
		}
	}
	for name, test := range map[string]struct {
		rates [][]int64
		want  v1alpha1.Links
	}{
		"no links": {matrix(2, func(int, int) int64 { return -1 }), v1alpha1.Links{}},
		"a pair": {matrix(2, func(int, int) int64 { return 64_000 }), v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
			Name: "xgmi-0000:00:00.0", Kind: "XGMI", Topology: v1alpha1.TopologyMesh,
			Members: []v1alpha1.DeviceID{cardID(0), cardID(1)}, PeerMBps: 64_000, DeviceMBps: 64_000,
		}}}},
		"the slowest pair counts": {matrix(3, func(_, b int) int64 { return map[int]int64{1: 64_000, 2: 10_000}[b] }), v1alpha1.Links{
			Domains: []v1alpha1.LinkDomain{{
				Name: "xgmi-0000:00:00.0", Kind: "XGMI", Topology: v1alpha1.TopologyMesh,
				Members: []v1alpha1.DeviceID{cardID(0), cardID(1), cardID(2)}, PeerMBps: 10_000, DeviceMBps: 20_000,
			}},
		}},
		"two quads with bridges": {matrix(8, quads), v1alpha1.Links{
			Domains: []v1alpha1.LinkDomain{
				{
					Name: "xgmi-0000:00:00.0", Kind: "XGMI", Topology: v1alpha1.TopologyMesh,
					Members: []v1alpha1.DeviceID{cardID(0), cardID(1), cardID(2), cardID(3)}, PeerMBps: 50_000, DeviceMBps: 150_000,
				},
				{
					Name: "xgmi-0000:04:00.0", Kind: "XGMI", Topology: v1alpha1.TopologyMesh,
					Members: []v1alpha1.DeviceID{cardID(4), cardID(5), cardID(6), cardID(7)}, PeerMBps: 50_000, DeviceMBps: 150_000,
				},
			},
			Pairs: []v1alpha1.LinkPair{
				{A: cardID(0), B: cardID(4), Kind: "XGMI", Count: 1, MBps: 100_000},
				{A: cardID(1), B: cardID(5), Kind: "XGMI", Count: 1, MBps: 100_000},
				{A: cardID(2), B: cardID(6), Kind: "XGMI", Count: 1, MBps: 100_000},
				{A: cardID(3), B: cardID(7), Kind: "XGMI", Count: 1, MBps: 100_000},
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := amdLinks(linkedCards(test.rates))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the kernel does not rate is rated by the catalogue, and a way of two hops is no link.
func TestAMDLinkRates(t *testing.T) {
	cards := linkedCards(matrix(2, func(int, int) int64 { return 0 }))
	for i := range cards {
		cards[i].known = true
		cards[i].product.LinkMBps, cards[i].product.Domain, cards[i].product.DomainDevices = 384_000, accelerator.Meshed, 4
	}
	links, err := amdLinks(cards)
	if err != nil || len(links.Domains) != 1 || links.Domains[0].PeerMBps != 128_000 {
		t.Errorf("got %+v, %v; want a third of the catalogue's rate to each peer", links, err)
	}
	for i := range cards {
		cards[i].nodes[0].links[0].weight = 2 * kfdWeightHop
	}
	if links, _ := amdLinks(cards); len(links.Domains) != 0 {
		t.Errorf("got %+v of cards two hops apart", links)
	}
}

func TestAMDHives(t *testing.T) {
	for name, test := range map[string]struct {
		hops    string
		product bool
		domains int
		told    bool
	}{
		"one hop to all":              {"00 01 01 01", false, 1, false},
		"two hops to some":            {"00 01 01 02", true, 0, true},
		"hops unknown, a full mesh":   {"", true, 1, false},
		"hops unknown, product too":   {"", false, 0, true},
		"fewer hops than members are": {"00 01", false, 0, true},
		"hops are no numbers":         {"none", false, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			cards := make([]amdCard, 4)
			for i := range cards {
				cards[i] = amdCard{parts: 1, hive: "77", hops: parseHops(test.hops), known: test.product}
				cards[i].Address = fmt.Sprintf("0000:%02x:00.0", i)
				if test.product {
					cards[i].product.LinkMBps, cards[i].product.Domain, cards[i].product.DomainDevices = 448_000, accelerator.Meshed, 8
				}
			}
			links, err := amdLinks(cards)
			if len(links.Domains) != test.domains || (err != nil) != test.told {
				t.Errorf("got %+v, %v", links, err)
			}
		})
	}
}

// A hive's id is a file in a folder of the device, not a file of that folder's name.
func TestAMDHiveFile(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:05:00.0", "amdgpu", mi300x())
	s.Function("pci0000:10/0000:15:00.0", "amdgpu", mi300x())
	links := s.Detect(GPU()).Links
	if len(links.Domains) != 1 || links.Domains[0].PeerMBps != 64_000 || links.Domains[0].DeviceMBps != 64_000 {
		t.Errorf("got %+v, want one domain of two with one link of 64 GB/s", links)
	}
}

func TestAMDLinksProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "cards")
		rate := map[[2]int]int64{}
		rates := matrix(n, func(a, b int) int64 {
			if _, ok := rate[[2]int{a, b}]; !ok {
				rate[[2]int{a, b}] = rapid.SampledFrom([]int64{-1, 50_000, 64_000}).Draw(t, "rate")
			}
			return rate[[2]int{a, b}]
		})
		links, err := amdLinks(linkedCards(rates))
		if err != nil {
			t.Fatal(err)
		}
		domainOf := map[v1alpha1.DeviceID]string{}
		covered := 0
		for _, domain := range links.Domains {
			covered += len(domain.Members) * (len(domain.Members) - 1) / 2
			for _, member := range domain.Members {
				if other, ok := domainOf[member]; ok {
					t.Fatalf("%s is in %s and in %s", member, other, domain.Name)
				}
				domainOf[member] = domain.Name
			}
		}
		linked := 0
		for a := range n {
			for b := a + 1; b < n; b++ {
				together := domainOf[cardID(a)] != "" && domainOf[cardID(a)] == domainOf[cardID(b)]
				if together && rates[a][b] < 0 {
					t.Fatalf("%s and %s share a domain without a link", cardID(a), cardID(b))
				}
				if rates[a][b] >= 0 {
					linked++
				}
			}
		}
		if covered+len(links.Pairs) != linked {
			t.Fatalf("%d links in domains and %d in pairs, want %d together", covered, len(links.Pairs), linked)
		}
	})
}
