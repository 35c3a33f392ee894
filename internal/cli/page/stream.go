package page

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// stream sends what is shown, a line of JSON for each change: everything in the first, and then what differs. A reader who is slow misses moments, not
// changes. Empty lines say that the server is there.
func (s *Site) stream(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		http.Error(w, "the stream is compressed: accept gzip", http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Encoding", "gzip")
	out, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return // the level is one that there is
	}
	line := lines{out: out, control: http.NewResponseController(w)}
	var sent Parts
	for {
		scene, changed := s.Stage.Now()
		if scene != nil {
			change := scene.parts.Since(sent)
			change.Version = scene.version
			if !change.empty() && line.write(&change) != nil {
				return
			}
			sent = scene.parts
		}
		if !s.next(r.Context(), scene != nil, changed, line) {
			return
		}
	}
}

// next waits until there is another scene, and after one at least for the period. It says whether the reader is still there.
func (s *Site) next(ctx context.Context, shown bool, changed <-chan struct{}, line lines) bool {
	if shown {
		select {
		case <-ctx.Done():
			return false
		case <-s.After(s.Period):
		}
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-changed:
			return true
		case <-s.After(heartbeat):
			if line.write(nil) != nil {
				return false
			}
		}
	}
}

// lines are a compressed stream of lines.
type lines struct {
	out     *gzip.Writer
	control *http.ResponseController
}

// write sends a change, or an empty line where there is none.
func (l lines) write(change *Change) error {
	if err := l.control.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	if change != nil {
		encoder := json.NewEncoder(l.out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(change); err != nil {
			return err
		}
	} else if _, err := l.out.Write([]byte("\n")); err != nil {
		return err
	}
	if err := l.out.Flush(); err != nil {
		return err
	}
	return l.control.Flush()
}
