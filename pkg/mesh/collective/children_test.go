package collective

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A child is this test binary, run again as one rank with a process of its own. It inherits its listener as file 3.
const childVariable = "RANKWRIGHT_COLLECTIVE_CHILD"

type childConfig struct {
	Rank      int
	Addresses []string
	Role      string
	Bytes     int
	Plain     string // address of a stream beside the communicator
	Listens   bool   // at its address, by itself
}

// childRoles are what a child may do. What it prints is read by the test.
var childRoles = map[string]func(childConfig, *Communicator) error{
	"reduce until it fails": reduceUntilFailure,
	"wait in a barrier":     waitInBarrier,
	"measure bandwidth":     measureAsChild,
	"measure over a link":   measureOverLink,
}

// childMain runs a child if this process is started as a child, and says whether it was.
func childMain() bool {
	text := os.Getenv(childVariable)
	if text == "" {
		return false
	}
	if err := runChild(text); err != nil {
		fmt.Println("error:", err)
	}
	return true
}

func runChild(text string) error {
	var config childConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	listener, err := config.listener()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := New(ctx, Config{
		Rank: config.Rank, Addresses: config.Addresses, Mesh: "test", Key: testKey, Listener: listener,
	})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return childRoles[config.Role](config, c)
}

func (c childConfig) listener() (net.Listener, error) {
	if c.Listens {
		return net.Listen("tcp", c.Addresses[c.Rank])
	}
	return net.FileListener(os.NewFile(3, "listener"))
}

func reduceUntilFailure(config childConfig, c *Communicator) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	buffer := make([]byte, config.Bytes)
	for round := 0; ; round++ {
		if err := c.World().AllReduce(ctx, buffer, FP32, Sum); err != nil {
			return err
		}
		if round == 0 {
			fmt.Println("running")
		}
	}
}

func waitInBarrier(config childConfig, c *Communicator) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.World().Barrier(ctx); err != nil {
		return err
	}
	fmt.Println("running")
	if config.Rank == len(config.Addresses)-1 {
		<-ctx.Done() // the one that is killed: the others wait for it
		return ctx.Err()
	}
	return c.World().Barrier(ctx)
}

// child is a child that was started.
type child struct {
	command *exec.Cmd
	lines   *bufio.Scanner
}

func startChild(t testing.TB, config childConfig, listener net.Listener) *child {
	t.Helper()
	tcpListener, ok := listener.(*net.TCPListener)
	if !ok {
		t.Fatalf("a child cannot inherit a %T", listener)
	}
	file, err := tcpListener.File()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.ExtraFiles = []*os.File{file}
	c := runAsChild(t, config, command)
	for _, c := range []io.Closer{file, listener} { // so that the child's end closes the port
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// runAsChild starts a command that is this binary, and ends it with the test.
func runAsChild(t testing.TB, config childConfig, command *exec.Cmd) *child {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it has ended already where the test went well
		_ = command.Wait()
	})
	return &child{command, bufio.NewScanner(output)}
}

// line is the next line that the child prints.
func (c *child) line() string {
	if !c.lines.Scan() {
		return fmt.Sprintf("no line: %v", c.lines.Err())
	}
	return c.lines.Text()
}

// A rank killed in the middle of a call ends the calls of all other ranks, and each names the killed rank and its address.
func TestKilledRankIsNamedByAllOthers(t *testing.T) {
	for name, test := range map[string]struct {
		role         string
		ranks, bytes int
		victim       int
	}{
		"in a ring":        {"reduce until it fails", 5, 8 << 20, 2},
		"in a tree":        {"reduce until it fails", 5, 64, 3},
		"one of two":       {"reduce until it fails", 2, 1 << 20, 1},
		"while they await": {"wait in a barrier", 4, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			listeners, addresses := listen(t, test.ranks)
			children := make([]*child, test.ranks)
			for rank := range children {
				config := childConfig{Rank: rank, Addresses: addresses, Role: test.role, Bytes: test.bytes}
				children[rank] = startChild(t, config, listeners[rank])
			}
			for rank, c := range children {
				if got := c.line(); got != "running" {
					t.Fatalf("rank %d says %q", rank, got)
				}
			}
			killed := time.Now()
			if err := children[test.victim].command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("error: rank %d (%s) is lost, says rank ", test.victim, addresses[test.victim])
			for rank, c := range children {
				if rank == test.victim {
					continue
				}
				if got := c.line(); len(got) < len(want) || got[:len(want)] != want {
					t.Errorf("rank %d says %q, want %q", rank, got, want)
				}
			}
			if waited := time.Since(killed); waited > patience/2 {
				t.Errorf("took %v: only the deadline ended it", waited)
			}
		})
	}
}
