package serving

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/internal/await"
)

// pollInterval is the time between two looks at a folder that cannot be watched: two looks in the second that a new
// kubelet may wait for its devices.
const pollInterval = 400 * time.Millisecond

// folder follows the kubelet's socket in the folder of device plugins.
type folder struct {
	path  string
	clock clock.Clock
	log   *slog.Logger
	// watch opens a watch of the folder; it is fsnotify's, except where a test has no inotify.
	watch func(path string) (*fsnotify.Watcher, error)

	// kubelet is the kubelet that was seen last.
	kubelet await.Value[kubelet]
}

func watchFolder(path string) (*fsnotify.Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	if err := watcher.Add(path); err != nil {
		_ = watcher.Close()
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	return watcher, nil
}

// look compares the socket with the one seen last.
func (f *folder) look() {
	seen := findKubelet(f.path)
	if now, _ := f.kubelet.Get(); !seen.same(now) {
		f.kubelet.Set(seen)
	}
}

// run follows the socket until the context ends. The folder is watched before it is looked at, so that no socket is
// missed between the two. One that cannot be watched is polled, and watched as soon as it can be.
func (f *folder) run(ctx context.Context) {
	blind := false
	for ctx.Err() == nil {
		watcher, err := f.watch(f.path)
		f.look()
		switch {
		case err != nil && !blind:
			f.log.Warn("the folder of device plugins cannot be watched and is polled", "folder", f.path, "error", err,
				"interval", pollInterval.String())
		case err == nil && blind:
			f.log.Info("the folder of device plugins is watched", "folder", f.path)
		}
		if blind = err != nil; blind {
			await.Pause(ctx, f.clock, pollInterval, nil)
			continue
		}
		f.follow(ctx, watcher)
		_ = watcher.Close()
	}
}

// follow looks at each event until the watch is of no use: it failed, or the folder itself went.
func (f *folder) follow(ctx context.Context, watcher *fsnotify.Watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watcher.Events:
			f.look()
			if !open || event.Name == f.path && event.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
				return
			}
		case err := <-watcher.Errors:
			f.log.Warn("the watch of the folder of device plugins lost events", "folder", f.path, "error", err)
			f.look()
			return
		}
	}
}
