package page

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"
)

//go:embed assets
var embedded embed.FS

// Site is what is served.
type Site struct {
	Stage *Stage
	// Plan answers what the planner would do with a model that a query describes. An error is a mistake in the query.
	Plan func(ctx context.Context, scene *Scene, query url.Values) (*Answer, error)
	// Models are the names of models that may be asked for.
	Models []string
	// Period is the least time between two changes that are sent; After tells when it is over.
	Period time.Duration
	After  func(time.Duration) <-chan time.Time
}

// Answer is what became of a placement that is not there.
type Answer struct {
	*Detail

	// Problem is a mistake in the question, of which there is nothing else to say.
	Problem string `json:"problem,omitempty"`
	// Micros is how long the planner took, in microseconds.
	Micros int64 `json:"micros"`
	// Command gives the same answer in a terminal.
	Command string `json:"command,omitempty"`
}

// Listen opens a random port of the loopback.
func Listen(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}

// Address is where a browser finds the page.
func Address(listener net.Listener, token string) string {
	return "http://" + listener.Addr().String() + "/" + token + "/"
}

// Limits of a connection. Streams have no end, so that writes have a limit each.
const (
	headerPatience = 10 * time.Second
	writePatience  = 30 * time.Second
	heartbeat      = 15 * time.Second
	endPatience    = time.Second
)

// Serve answers on a listener until the context ends.
func (s *Site) Serve(ctx context.Context, listener net.Listener, token string) error {
	server := &http.Server{
		Handler: guard(listener.Addr(), token, s.handler()), ReadHeaderTimeout: headerPatience, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close()
		}
	})
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Site) handler() http.Handler {
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(files))
	mux.HandleFunc("/stream", s.stream)
	mux.HandleFunc("/placement/{namespace}/{name}", s.placement)
	mux.HandleFunc("/plan", s.plan)
	mux.HandleFunc("/models", func(w http.ResponseWriter, _ *http.Request) { write(w, s.Models) })
	return mux
}

// placement answers with all that is known of a placement.
func (s *Site) placement(w http.ResponseWriter, r *http.Request) {
	scene, _ := s.Stage.Now()
	if scene == nil || scene.Snapshot == nil {
		http.Error(w, "nothing was read yet: try again", http.StatusServiceUnavailable)
		return
	}
	detail, err := DetailOf(scene.State, r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	write(w, detail)
}

// plan answers what the fleet would give.
func (s *Site) plan(w http.ResponseWriter, r *http.Request) {
	scene, _ := s.Stage.Now()
	if scene == nil || scene.Snapshot == nil {
		http.Error(w, "nothing was read yet: try again", http.StatusServiceUnavailable)
		return
	}
	answer, err := s.Plan(r.Context(), scene, r.URL.Query())
	if err != nil { // somebody is still typing
		answer = &Answer{Problem: err.Error()}
	}
	write(w, answer)
}

func write(w http.ResponseWriter, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // who asked has gone where this fails
}
