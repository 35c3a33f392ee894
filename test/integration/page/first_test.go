package page

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	follow "github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/test/operation"
)

// TestLostBeforeTheFirstPicture: an API server that dies after it was found and before everything was listed leaves a page that says what it waits for.
func TestLostBeforeTheFirstPicture(t *testing.T) {
	w := newWorld(t)
	w.add("before")
	config, err := cluster.ConfigForUser("first", "system:masters")
	w.Must(err)
	target, err := url.Parse(config.Host)
	w.Must(err)
	transport, err := rest.TransportFor(config)
	w.Must(err)
	between := httputil.NewSingleHostReverseProxy(target)
	between.Transport = transport
	var listed atomic.Bool
	var found atomic.Int32
	kinds := int32(len(follow.Live(holding.Pods, follow.Calibrations)))
	asked := make(chan struct{})
	handler := http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		switch one := r.URL.Query().Get("limit") == "1"; { // of each kind, by which it is found out what there is
		case !listed.Load() && !one:
			panic(http.ErrAbortHandler)
		case one && found.Add(1) == kinds:
			defer close(asked)
		}
		between.ServeHTTP(answer, r)
	})
	server := httptest.NewServer(handler)
	s := w.opens(w.kubeconfig(&rest.Config{Host: server.URL}, nil), term.Streams{After: quickly})
	<-asked
	server.Close()
	s.awaits("outage", "The API server does not answer: ")
	s.awaits("outage", "connection refused")
	s.awaits("outage", `"awaited":"`)
	s.awaits("outage", "acceleratorinventories")
	s.awaits("fleet", "")
	listed.Store(true)
	listener, err := new(net.ListenConfig).Listen(w.Context(), "tcp", server.Listener.Addr().String())
	w.Must(err)
	again := httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: operation.Patience}}
	again.Start()
	t.Cleanup(again.CloseClientConnections)
	s.awaits("node/before", "Idle")
	s.awaits("outage", "")
}
