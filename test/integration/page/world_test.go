// Package page follows a real API server by kubectl rankwright ui, while it goes away, refuses and comes back, and while agents fall silent.
package page

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/page"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // as the plugin does
	controlplane.Main(m, &cluster)
}

// world is the cluster that the page is of.
type world struct{ *operation.World }

func newWorld(t *testing.T) world {
	t.Helper()
	return world{operation.New(t, cluster, "team-a")}
}

// add makes a node with a device.
func (w world) add(name string) {
	w.Helper()
	w.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, operation.GPUs(1))
	w.Cleanup(func() {
		for _, object := range []client.Object{&corev1.Node{}, &v1alpha1.AcceleratorInventory{}} {
			object.SetName(name)
			w.Must(w.Delete(context.WithoutCancel(w.Context()), object))
		}
	})
}

// kubeconfig writes a configuration where the plugin finds it.
func (w world) kubeconfig(config *rest.Config, err error) string {
	w.Helper()
	w.Must(err)
	path := filepath.Join(w.TempDir(), "kubeconfig")
	w.Must(controlplane.WriteKubeconfig(path, config))
	return path
}

// quickly has pauses pass that are for people, who look at the page.
func quickly(d time.Duration) <-chan time.Time { return time.After(min(d, 50*time.Millisecond)) }

// shown is what a page shows.
type shown struct {
	world

	changes *json.Decoder
	parts   page.Parts
}

var address = regexp.MustCompile(`http://\S+`)

// opens runs kubectl rankwright ui until the test ends, and reads its stream.
func (w world) opens(kubeconfig string, streams term.Streams) *shown {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), operation.Patience)
	out, in := io.Pipe()
	streams.In, streams.Out, streams.Err = strings.NewReader(""), in, io.Discard
	ended := make(chan int, 1)
	go func() { ended <- cli.Run(ctx, []string{"ui", "--kubeconfig", kubeconfig}, streams); _ = in.Close() }()
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	w.Must(err)
	go func() { _, _ = io.Copy(io.Discard, said) }()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.FindString(line)+"stream", http.NoBody)
	w.Must(err)
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultTransport.RoundTrip(request)
	w.Must(err)
	plain, err := gzip.NewReader(response.Body)
	w.Must(err)
	w.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
		if code := <-ended; code != term.ExitOK {
			w.Errorf("ui ended with exit code %d", code)
		}
	})
	return &shown{w, json.NewDecoder(plain), page.Parts{}}
}

// awaits reads changes until a part says something, or is gone where nothing is to be said.
func (s *shown) awaits(part, text string) {
	s.Helper()
	for {
		got, there := s.parts[part]
		if text == "" && !there && len(s.parts) > 0 || text != "" && strings.Contains(string(got), text) {
			return
		}
		var c page.Change
		if err := s.changes.Decode(&c); err != nil {
			s.Fatalf("the page never said %q of %s: %v; it has %s", text, part, err, got)
		}
		maps.Copy(s.parts, c.Set)
		for _, key := range c.Gone {
			delete(s.parts, key)
		}
	}
}
