package launch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestGroupsFile(t *testing.T) {
	b := fixture{
		engine: v1alpha1.EngineTorch, strategy: copies(degrees(2, 1, 3), 2), nodes: []int{4, 4, 4},
		options: Options{PodDevices: 1, Hosts: hosts(t, "llm-{pod}.llm")},
	}.bundle(t, "groups")
	want := `{"plan":"llm-1","hosts":["llm-6.llm","llm-7.llm","llm-8.llm","llm-9.llm","llm-10.llm","llm-11.llm"],` +
		`"groups":{"dp":[[0,2,4],[1,3,5]],"tp":[[0,1],[2,3],[4,5]],"world":[[0,1,2,3,4,5]]}}` + "\n"
	text := file(t, b, GroupsFile(1))
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", GroupsFile(1), diff)
	}
	g, err := ParseGroups([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int32{{0, 2, 4}, {1, 3, 5}}, g.Kinds["dp"]); diff != "" || g.Plan != "llm-1" || g.Hosts[5] != "llm-11.llm" {
		t.Errorf("it reads as %+v (-want +got):\n%s", g, diff)
	}
}

func TestGroupsOfPodsWithSeveralRanks(t *testing.T) {
	b := fixture{
		engine: v1alpha1.EngineTorch, strategy: degrees(2, 1, 2), nodes: []int{2, 2}, options: Options{Hosts: hosts(t, "llm-{pod}.llm")},
	}.bundle(t, "groups")
	g, err := ParseGroups([]byte(file(t, b, GroupsFile(0))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"llm-0.llm", "llm-0.llm", "llm-1.llm", "llm-1.llm"}, g.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
}

// badGroups are files that are refused, by what the error says.
var badGroups = map[string]string{
	``:                                       "groups: EOF",
	`{}`:                                     "hosts is empty",
	`{"hosts":["a"],"peers":[]}`:             `unknown field "peers"`,
	`{"hosts":["a"]} {}`:                     "something follows",
	`{"hosts":["a",""]}`:                     "hosts[1] is empty",
	`{"hosts":["a"],"groups":{"tp":[[1]]}}`:  "rank 1: with 1 hosts it must be 0 to 0",
	`{"hosts":["a"],"groups":{"tp":[[-1]]}}`: "rank -1",
	`{"hosts":["a"],"groups":{"tp":[[]]}}`:   "group 0 is empty",
	`{"hosts":["a"],"groups":{"tp":[[0],[0]]}}`: "group 1 has rank 0, which is in a group before",
}

func TestBadGroupsAreRefused(t *testing.T) {
	for text, want := range badGroups {
		if _, err := ParseGroups([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

func FuzzParseGroups(f *testing.F) {
	f.Add(`{"plan":"llm-1","hosts":["a","b"],"groups":{"tp":[[0,1]],"dp":[[0],[1]]}}`)
	for text := range badGroups {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseGroups([]byte(text))
		if err != nil {
			return
		}
		for kind, list := range g.Kinds {
			of := make([]int, len(g.Hosts))
			for _, group := range list {
				for _, rank := range group {
					of[rank]++
				}
			}
			for rank, count := range of {
				if count > 1 {
					t.Errorf("rank %d is in %d groups of kind %s", rank, count, kind)
				}
			}
		}
	})
}
