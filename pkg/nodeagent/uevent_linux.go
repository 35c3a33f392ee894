package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// kernelGroup is the multicast group of the kernel's own messages; udevd's are in another.
	kernelGroup = 1
	// maxUevent is what a message may hold: the kernel's buffer of variables is 2 KiB, its path at most a page.
	maxUevent = 8 << 10
)

// ueventSource is a netlink socket. It takes no privilege. In a container's network namespace, the kernel delivers what
// belongs to no namespace, PCI devices among it, as long as that namespace is owned by the first user namespace
// (lib/kobject_uevent.c): not in pods with hostUsers: false, where nothing comes.
type ueventSource struct {
	socket *os.File
	// seen is told of every event that matters.
	seen func(uevent)
}

func openUevents(seen func(uevent)) (eventSource, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listen for the kernel's events: %w", err)
	}
	source := &ueventSource{socket: os.NewFile(uintptr(fd), "uevents"), seen: seen}
	return source.run, nil
}

// run is an eventSource: it notifies of every event that matters.
func (s *ueventSource) run(ctx context.Context, notify func()) error {
	socket, err := s.socket.SyscallConn()
	if err != nil {
		return fmt.Errorf("read the kernel's events: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = s.socket.Close() })
	message := make([]byte, maxUevent)
	for {
		n, from, err := receive(socket, message)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS): // events were lost
			notify()
		case err != nil:
			return fmt.Errorf("read the kernel's events: %w", err)
		default:
			sender, isNetlink := from.(*unix.SockaddrNetlink)
			event, ok := parseUevent(message[:n])
			if ok && event.matters() && isNetlink && sender.Pid == 0 {
				s.seen(event)
				notify()
			}
		}
	}
}

// receive waits for a message, as long as the socket is open.
func receive(socket syscall.RawConn, message []byte) (n int, from unix.Sockaddr, err error) {
	waitErr := socket.Read(func(fd uintptr) bool {
		n, from, err = unix.Recvfrom(int(fd), message, 0)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	if waitErr != nil {
		return 0, nil, waitErr
	}
	return n, from, err
}
