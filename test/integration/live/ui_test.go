package live

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/page"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

var pageAddress = regexp.MustCompile(`http://\S+`)

// ui holds what the page is sent of the cluster to what top prints as JSON.
func ui(w *world) {
	first := w.firstState(w.kubeconfig)
	type sums struct {
		Nodes        int              `json:"nodes"`
		Closed       int              `json:"closedNodes"`
		Totals       holding.Totals   `json:"totals"`
		Products     []holding.Group  `json:"products"`
		NotPermitted []holding.Unseen `json:"notPermitted,omitempty"`
	}
	w.same("fleet", again[sums](w, w.asks("top", "-o", "json")), again[sums](w, string(first.Set["fleet"])))
	for _, p := range clitest.Object[struct{ Items []holding.Placement }](w.T, w.asks("top", "placements", "-A", "-o", "json")).Items {
		w.same("placement "+p.Name, encoded(w, p), again[holding.Placement](w, string(first.Set["placement/"+p.Namespace+"/"+p.Name])))
	}
	type device struct {
		Condition                      holding.Condition
		OthersMiB, PlannedMiB, FreeMiB int64
		Pods                           []holding.Pod
		Seats                          []holding.Seat
	}
	byNode := map[string][]device{}
	for _, d := range clitest.Object[struct{ Items []holding.Device }](w.T, w.asks("top", "devices", "-o", "json")).Items {
		byNode[d.Node] = append(byNode[d.Node], device{d.Condition, d.Memory.OthersMiB, d.Memory.PlannedMiB, d.Memory.FreeMiB, d.Pods, d.Seats})
	}
	for node, devices := range byNode {
		w.same("node "+node, encoded(w, devices), encoded(w, clitest.Object[struct{ Devices []device }](w.T, string(first.Set["node/"+node])).Devices))
	}
}

// again is an object as its type knows it.
func again[T any](w *world, text string) string { return encoded(w, clitest.Object[T](w.T, text)) }

func encoded(w *world, object any) string {
	w.Helper()
	text, err := json.MarshalIndent(object, "", " ")
	w.Must(err)
	return string(text)
}

// firstState runs ui and reads the first line of its stream.
func (w *world) firstState(kubeconfig string) page.Change {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, []string{"ui", "--kubeconfig", kubeconfig}, term.Streams{In: strings.NewReader(""), Out: in, Err: io.Discard})
		_ = in.Close()
	}()
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	w.Must(err)
	go func() { _, _ = io.Copy(io.Discard, said) }()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, pageAddress.FindString(line)+"stream", http.NoBody)
	w.Must(err)
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultTransport.RoundTrip(request)
	w.Must(err)
	defer func() { _ = response.Body.Close() }()
	plain, err := gzip.NewReader(response.Body)
	w.Must(err)
	var first page.Change
	w.Must(json.NewDecoder(plain).Decode(&first))
	cancel()
	if got := <-code; got != term.ExitOK {
		w.Errorf("ui ended with exit code %d", got)
	}
	return first
}
