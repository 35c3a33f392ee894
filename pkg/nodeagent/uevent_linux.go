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

// openUevents opens a netlink socket, and tells seen of every event that matters. It takes no privilege. In a container's network
// namespace, the kernel delivers what belongs to no namespace, PCI devices among it, as long as that namespace is owned by the first
// user namespace (lib/kobject_uevent.c): not in pods with hostUsers: false, where nothing comes.
func openUevents(seen func(uevent)) (eventSource, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listen for the kernel's events: %w", err)
	}
	file := os.NewFile(uintptr(fd), "uevents")
	return func(ctx context.Context, notify func()) error {
		context.AfterFunc(ctx, func() { _ = file.Close() })
		return readUevents(ctx, file, seen, notify)
	}, nil
}

func readUevents(ctx context.Context, file *os.File, seen func(uevent), notify func()) error {
	message := make([]byte, maxUevent)
	socket, err := file.SyscallConn()
	for err == nil {
		var n int
		var from unix.Sockaddr
		n, from, err = receive(socket, message)
		switch {
		case errors.Is(err, unix.ENOBUFS): // events were lost
			err = nil
			notify()
		case err == nil:
			sender, isNetlink := from.(*unix.SockaddrNetlink)
			event, ok := parseUevent(message[:n])
			if ok && event.matters() && isNetlink && sender.Pid == 0 {
				seen(event)
				notify()
			}
		}
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the socket was closed for it
	}
	return fmt.Errorf("read the kernel's events: %w", err)
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
