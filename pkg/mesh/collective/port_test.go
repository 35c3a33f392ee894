package collective

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// Two meshes of the same two processes share a port each.
func TestMeshesShareAPort(t *testing.T) {
	listeners, addresses := listen(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var made [2][2]*Communicator
	var errs [2][2]error
	var work sync.WaitGroup
	for rank, listener := range listeners {
		port := NewPort(listener)
		t.Cleanup(func() { _ = port.Close() })
		for mesh := range 2 {
			name := fmt.Sprint("mesh ", mesh)
			door := port.Open(name)
			work.Go(func() {
				made[mesh][rank], errs[mesh][rank] = New(ctx, Config{Rank: rank, Addresses: addresses, Mesh: name, Key: testKey, Listener: door})
			})
		}
	}
	work.Wait()
	for mesh := range made {
		if err := errors.Join(errs[mesh][:]...); err != nil {
			t.Fatal(err)
		}
		closeAfter(t, made[mesh][:])
		mustAll(t, "barrier", worldGroups(made[mesh][:]), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
	}
}

// knock dials a port and says for which mesh it is.
func knock(t *testing.T, address, mesh string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	caller := identity{size: 2, mesh: sha256.Sum256([]byte(mesh))}
	if _, err := conn.Write(caller.hello(streamKey{from: 1}, [nonceSize]byte{})); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestKnockIsTold(t *testing.T) {
	listeners, addresses := listen(t, 1)
	port := NewPort(listeners[0])
	t.Cleanup(func() { _ = port.Close() })
	door, other := port.Open("mine"), port.Open("other")
	conn := knock(t, addresses[0], "mine")
	<-door.Knocked()
	select {
	case <-other.Knocked():
		t.Error("the other mesh was knocked at")
	default:
	}
	taken, err := door.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var first [helloSize]byte
	if _, err := io.ReadFull(taken, first[:]); err != nil || [4]byte(first[:4]) != magic {
		t.Errorf("the door's connection begins with %x, %v: want the whole hello", first[:4], err)
	}
	_ = taken.Close()
	if _, err := conn.Read(first[:]); err == nil {
		t.Error("the connection is open after it was closed")
	}
}

func TestNobodyBehindTheDoor(t *testing.T) {
	listeners, addresses := listen(t, 1)
	port := NewPort(listeners[0])
	door := port.Open("mine")
	if _, err := knock(t, addresses[0], "unknown").Read(make([]byte, 1)); err == nil {
		t.Error("the connection for an unknown mesh stays")
	}
	silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	waiting := knock(t, addresses[0], "mine")
	<-door.Knocked()
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]net.Conn{"silent": silent, "waiting": waiting} {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the connection outlives the port", name)
		}
	}
	if _, err := door.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed door: %v", err)
	}
}
