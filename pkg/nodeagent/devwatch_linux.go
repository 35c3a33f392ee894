package nodeagent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// nodeEvents are what happens to device nodes: they are made and removed, or moved into place.
const nodeEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_ONLYDIR

// devSource watches /dev with inotify: NVIDIA's driver makes nodes without an event of the kernel.
type devSource struct {
	folder  string
	inotify *os.File
	// root is the watch of the folder itself.
	root int
}

func openDevWatch(folder string) (eventSource, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open inotify: %w; where there are too many, raise fs.inotify.max_user_instances", err)
	}
	s := &devSource{folder: folder, inotify: os.NewFile(uintptr(fd), "inotify")}
	s.root, err = s.watch(folder)
	for _, name := range deviceFolders {
		if _, problem := s.watch(filepath.Join(folder, name)); err == nil && !errors.Is(problem, fs.ErrNotExist) {
			err = problem
		}
	}
	if err != nil {
		_ = s.inotify.Close()
		return nil, err
	}
	return s.run, nil
}

func (s *devSource) watch(folder string) (int, error) {
	var watch int
	conn, err := s.inotify.SyscallConn()
	if err != nil {
		return 0, err
	}
	if controlErr := conn.Control(func(fd uintptr) { watch, err = unix.InotifyAddWatch(int(fd), folder, nodeEvents) }); controlErr != nil {
		return 0, controlErr
	}
	if err != nil {
		return 0, fmt.Errorf("watch %s: %w; where there is no space, raise fs.inotify.max_user_watches", folder, err)
	}
	return watch, nil
}

// run is an eventSource: it notifies of every node that may be an accelerator's.
func (s *devSource) run(ctx context.Context, notify func()) error {
	context.AfterFunc(ctx, func() { _ = s.inotify.Close() })
	buffer := make([]byte, 16<<10)
	for {
		n, err := s.inotify.Read(buffer)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read inotify: %w", err)
		}
		for _, event := range parseInotify(buffer[:n]) {
			if s.take(event) {
				notify()
			}
		}
	}
}

// take says whether an event matters, and watches folders of accelerators that come.
func (s *devSource) take(event inotifyEvent) bool {
	if event.mask&unix.IN_Q_OVERFLOW != 0 { // events were lost
		return true
	}
	if event.mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 && event.watch == s.root && slices.Contains(deviceFolders, event.name) {
		// A folder that cannot be watched is seen with the next period, as all is where there is no watch.
		_, _ = s.watch(filepath.Join(s.folder, event.name))
	}
	return event.name != "" && (event.watch != s.root || !idleNode.MatchString(event.name))
}

// inotifyEvent is a struct inotify_event (inotify(7)).
type inotifyEvent struct {
	watch int
	mask  uint32
	name  string
}

// parseInotify reads the events in what the kernel gave; it never cuts one.
func parseInotify(data []byte) []inotifyEvent {
	var events []inotifyEvent
	for len(data) >= unix.SizeofInotifyEvent {
		length := int64(binary.NativeEndian.Uint32(data[12:]))
		if length > int64(len(data)-unix.SizeofInotifyEvent) {
			break
		}
		end := unix.SizeofInotifyEvent + int(length)
		events = append(events, inotifyEvent{
			watch: int(int32(binary.NativeEndian.Uint32(data))),
			mask:  binary.NativeEndian.Uint32(data[4:]),
			name:  strings.TrimRight(string(data[unix.SizeofInotifyEvent:end]), "\x00"),
		})
		data = data[end:]
	}
	return events
}
