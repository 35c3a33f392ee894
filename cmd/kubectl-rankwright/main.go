// Kubectl-rankwright is a kubectl plugin for looking at hosts, models, plans and ranks without a cluster.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	xterm "golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // commands tell themselves what goes wrong
	streams := term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Get: get}
	streams.Width, streams.Terminal = terminal()
	code := cli.Run(ctx, os.Args[1:], streams)
	stop()
	os.Exit(code)
}

// terminal says how many columns the terminal has, and whether standard output is one. COLUMNS goes before what the terminal says.
func terminal() (columns int, is bool) {
	columns, _, err := xterm.GetSize(int(os.Stdout.Fd()))
	if said, bad := strconv.Atoi(os.Getenv("COLUMNS")); bad == nil {
		columns = said
	}
	return columns, err == nil
}

// What is read of an address, and how long that may take.
const (
	mostBytes = 64 << 20
	patience  = 30 * time.Second
)

// get reads what is at an address.
func get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	if err == nil && len(content) > mostBytes {
		err = fmt.Errorf("the answer has more than %d bytes", mostBytes)
	}
	return content, err
}
