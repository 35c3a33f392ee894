package dra

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/stats"

	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

func TestState(t *testing.T) {
	tests := []struct {
		name        string
		kubelet     kubelet
		unpublished string
		want        serving.State
		detail      string
	}{
		{"at the start", kubelet{}, notYet, serving.Registering, ""},
		{"refused", kubelet{refused: "too old", connected: true}, "", serving.Refused, "too old"},
		{"a kubelet that went", kubelet{registered: true}, "", serving.KubeletAway, "it has no connection to the driver"},
		{"no slices", kubelet{registered: true, connected: true}, "forbidden", serving.Unpublished, "forbidden"},
		{"all is well", kubelet{registered: true, connected: true}, "", serving.Serving, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if state, detail := tc.kubelet.state(tc.unpublished); state != tc.want || detail != tc.detail {
				t.Errorf("%s (%s), want %s (%s)", state, detail, tc.want, tc.detail)
			}
		})
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	var seen []int
	c := &connections{changed: func(open int) { seen = append(seen, open) }}
	for _, s := range []stats.ConnStats{&stats.ConnBegin{}, &stats.ConnBegin{}, &stats.ConnEnd{}, &stats.ConnEnd{}} {
		c.HandleConn(t.Context(), s)
	}
	if diff := cmp.Diff([]int{1, 2, 1, 0}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
