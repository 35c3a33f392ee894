package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// proxy stands between one operator and the API server. It speaks for the operator, with its rights, and misbehaves by rules.
type proxy struct {
	server  *http.Server
	address string

	mu       sync.Mutex
	random   *rand.Rand
	rules    []rule
	watches  map[int]context.CancelFunc
	next     int
	mischief int // how many requests rules were applied to
}

// rule says to which requests something is done, and how often of a thousand.
type rule struct {
	verbs    []string // of Kubernetes; all where there are none
	resource string   // part of the path; all where it is empty
	permille int
	do       func(w http.ResponseWriter, r *http.Request, forward http.Handler)
}

// newProxy serves on a port of the loopback until it is closed.
func newProxy(config *rest.Config, seed uint64) (*proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	p := &proxy{address: "http://" + listener.Addr().String(), random: rand.New(rand.NewPCG(seed, 0)), watches: map[int]context.CancelFunc{}}
	p.server = &http.Server{Handler: p.handle(forward), ReadHeaderTimeout: time.Minute, ErrorLog: forward.ErrorLog}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

func (p *proxy) close() { _ = p.server.Close() }

// set replaces the rules.
func (p *proxy) set(rules ...rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
}

// dropWatches ends all watches that are under way.
func (p *proxy) dropWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.watches {
		end()
		p.mischief++
	}
}

// count is how many requests were mishandled so far.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mischief
}

func (p *proxy) handle(forward http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if verbOf(r) == "watch" {
			ctx, cancel := context.WithCancel(r.Context())
			defer p.watching(cancel)()
			r = r.WithContext(ctx)
		}
		if hit := p.applies(r); hit != nil {
			hit.do(w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	})
}

func (p *proxy) watching(cancel context.CancelFunc) (ended func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	number := p.next
	p.next++
	p.watches[number] = cancel
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, number)
		cancel()
	}
}

func (p *proxy) applies(r *http.Request) *rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.rules {
		is := &p.rules[i]
		if (len(is.verbs) == 0 || slices.Contains(is.verbs, verbOf(r))) && strings.Contains(r.URL.Path, is.resource) && p.random.IntN(1000) < is.permille {
			p.mischief++
			return is
		}
	}
	return nil
}

// verbOf is list for get as well.
func verbOf(r *http.Request) string {
	if r.URL.Query().Get("watch") != "" {
		return "watch"
	}
	return map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "list"}[r.Method]
}

var writes = []string{"create", "update", "patch", "delete"}

// refuse answers with a status of Kubernetes and sends nothing on.
func refuse(code int, reason string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"injected","reason":%q,"code":%d}`, reason, code)
	}
}

// expire tells a watcher in its stream that it has to list anew.
func expire(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"injected","reason":"Expired","code":410}}`+"\n")
}

// hang keeps a request for a time and sends nothing on.
func hang(d time.Duration) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		pause(r.Context(), d)
		panic(http.ErrAbortHandler)
	}
}

// delay sends a request on later.
func delay(d time.Duration) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		pause(r.Context(), d)
		forward.ServeHTTP(w, r)
	}
}

// swallow has a request carried out and keeps the answer.
func swallow(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
	forward.ServeHTTP(&deaf{header: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
	panic(http.ErrAbortHandler)
}

// lag gives what a watch brings after a time, so that informers are behind.
func lag(d time.Duration) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		forward.ServeHTTP(&laggard{ResponseWriter: w, ctx: r.Context(), behind: d}, r)
	}
}

// deaf takes an answer that nobody gets.
type deaf struct{ header http.Header }

func (d *deaf) Header() http.Header         { return d.header }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
func (d *deaf) WriteHeader(int)             {}

// laggard is an answer that comes late.
type laggard struct {
	http.ResponseWriter
	ctx    context.Context //nolint:containedctx // of the request that it answers
	behind time.Duration
}

var errGone = errors.New("the client is gone")

// Write waits before it writes.
func (l *laggard) Write(p []byte) (int, error) {
	if !pause(l.ctx, l.behind) {
		return 0, errGone
	}
	return l.ResponseWriter.Write(p)
}

// Unwrap lets what was written be flushed.
func (l *laggard) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// pause waits for a time, and says whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
