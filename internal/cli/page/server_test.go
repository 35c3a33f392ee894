package page

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankwright/rankwright/pkg/holding"
)

// served is a site on a port of its own. Each value of pauses ends a pause of a stream.
type served struct {
	*testing.T

	address, host string
	stage         *Stage
	pauses        chan time.Time
}

func serving(t *testing.T) *served {
	t.Helper()
	listener, err := Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &served{T: t, address: Address(listener, "secret"), host: listener.Addr().String(), stage: NewStage(Source{Kind: Files, Name: "a"}), pauses: make(chan time.Time)}
	site := &Site{
		Stage: s.stage, Models: []string{"Llama"}, Period: time.Second, Plan: func(_ context.Context, _ *Scene, query url.Values) (*Answer, error) {
			return &Answer{Detail: &Detail{Name: query.Get("model")}}, nil
		},
		After: func(d time.Duration) <-chan time.Time {
			if d == heartbeat {
				return nil
			}
			return s.pauses
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- site.Serve(ctx, listener, "secret") }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// asks sends a request whose parts change says, and returns the answer without its body.
func (s *served) asks(path string, change func(*http.Request)) (code int, header http.Header) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.address+path, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	if change != nil {
		change(request)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		s.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, response.Header
}

// TestGuard lets in who has the address, and nobody else.
func TestGuard(t *testing.T) {
	s := serving(t)
	with := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	_, port, err := net.SplitHostPort(s.host)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"the page":               {nil, http.StatusOK},
		"by the name localhost":  {func(r *http.Request) { r.Host = "localhost:" + port }, http.StatusOK},
		"asked by itself":        {with("Origin", "http://"+s.host), http.StatusOK},
		"typed in":               {with("Sec-Fetch-Site", "none"), http.StatusOK},
		"another name":           {func(r *http.Request) { r.Host = "attacker.example:" + port }, http.StatusMisdirectedRequest},
		"another port":           {func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusMisdirectedRequest},
		"no port":                {func(r *http.Request) { r.Host = "127.0.0.1" }, http.StatusMisdirectedRequest},
		"another origin":         {with("Origin", "http://attacker.example"), http.StatusForbidden},
		"an origin of nobody":    {with("Origin", "null"), http.StatusForbidden},
		"an origin over TLS":     {with("Origin", "https://"+s.host), http.StatusForbidden},
		"another site":           {with("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"another port's page":    {with("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"another token":          {func(r *http.Request) { r.URL.Path = "/guess/" }, http.StatusForbidden},
		"a part of the token":    {func(r *http.Request) { r.URL.Path = "/secre/" }, http.StatusForbidden},
		"no token":               {func(r *http.Request) { r.URL.Path = "/" }, http.StatusForbidden},
		"a way around":           {func(r *http.Request) { r.URL.Path = "//secret/" }, http.StatusForbidden},
		"a change":               {func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		"a head":                 {func(r *http.Request) { r.Method = http.MethodHead }, http.StatusMethodNotAllowed},
		"leave of another site":  {func(r *http.Request) { r.Method = http.MethodOptions }, http.StatusMethodNotAllowed},
		"a file that is not one": {func(r *http.Request) { r.URL.Path = "/secret/server.go" }, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			own := *s
			own.T = t
			code, header := own.asks("", test.change)
			if code != test.want {
				t.Errorf("the answer is %d, want %d", code, test.want)
			}
			if got := header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") || strings.Contains(got, "unsafe") {
				t.Errorf("the policy is %q", got)
			}
			if got := header.Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("other origins may read: %q", got)
			}
		})
	}
}

func TestTokensDiffer(t *testing.T) {
	if a, b := NewToken(), NewToken(); a == b || len(a) < 26 {
		t.Errorf("tokens %q and %q", a, b)
	}
}

// changes reads a stream line by line.
func (s *served) changes() func() Change {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.address+"stream", http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = response.Body.Close() })
	plain, err := gzip.NewReader(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	lines := bufio.NewReader(plain)
	return func() Change {
		s.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.Fatal(err)
		}
		var c Change
		if err := json.Unmarshal(line, &c); err != nil {
			s.Fatalf("%v in %s", err, line)
		}
		return c
	}
}

func (s *served) show(state *holding.State) {
	s.Helper()
	if err := s.stage.Show(state, nil); err != nil {
		s.Fatal(err)
	}
}

// TestStream sends all at first and then what differs; what happens between two changes is one.
func TestStream(t *testing.T) {
	s := serving(t)
	s.show(small())
	next := s.changes()
	first := next()
	if !first.Whole || first.Version != 1 || first.Set["node/h100-0"] == nil || first.Set["fleet"] == nil {
		t.Fatalf("the first change is %+v", first)
	}
	for _, used := range []int64{512, 1024} {
		state := small()
		state.Inventories[0].Status.Devices[0].Memory.UsedByOthersMiB = used
		s.show(state)
	}
	s.pauses <- time.Time{}
	second := next()
	if second.Whole || second.Version != 3 || len(second.Set) != 3 || !strings.Contains(string(second.Set["node/h100-0"]), `"othersMiB":1024`) {
		t.Errorf("the second change is of version %d and sets %v", second.Version, slices.Sorted(maps.Keys(second.Set)))
	}
	empty := small()
	empty.Inventories, empty.Nodes, empty.Plans = nil, nil, nil
	s.show(empty)
	s.pauses <- time.Time{}
	if third := next(); len(third.Gone) != 3 || third.Gone[1] != "node/h100-0" {
		t.Errorf("the third change takes away %v", third.Gone)
	}
}

// TestQuestions are answered as JSON.
func TestQuestions(t *testing.T) {
	s := serving(t)
	for path, want := range map[string]int{"plan?model=a": http.StatusServiceUnavailable, "placement/a/b": http.StatusServiceUnavailable, "models": http.StatusOK} {
		if got, _ := s.asks(path, nil); got != want {
			t.Errorf("%s before anything was read: %d, want %d", path, got, want)
		}
	}
	if err := s.stage.Show(&holding.State{}, &Outage{Awaited: "nodes"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.asks("plan?model=a", nil); got != http.StatusServiceUnavailable {
		t.Errorf("a plan on a fleet of which nothing is known: %d", got)
	}
	s.show(small())
	for path, want := range map[string]int{"plan?model=a": http.StatusOK, "placement/a/b": http.StatusNotFound, "placement/team-a/llama": http.StatusOK, "page.js": http.StatusOK} {
		if got, _ := s.asks(path, nil); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
