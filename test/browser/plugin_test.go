package browser

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/test/process"
)

// asPlugin has the test binary be the plugin, so that it runs as a process of its own.
const asPlugin = "RANKWRIGHT_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := cli.Run(ctx, os.Args[1:], term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// plugin is `kubectl rankwright ui` as it runs.
type plugin struct {
	*process.Process

	address string
}

var printedAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`)

// serve runs `kubectl rankwright ui` until the test ends.
func serve(t *testing.T, args ...string) *plugin {
	t.Helper()
	log := filepath.Join(t.TempDir(), "ui.log")
	ran, err := process.Start(process.Spec{
		Name: "kubectl-rankwright", Path: os.Args[0], Args: append([]string{"ui", "--open=false"}, args...), Env: append(os.Environ(), asPlugin+"=1"), LogFile: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ran.Stop(grace) })
	p := &plugin{Process: ran}
	err = ran.Await(t.Context(), patience, func(context.Context) error {
		text, err := os.ReadFile(log)
		if p.address = printedAddress.FindString(string(text)); p.address == "" {
			return errors.Join(errors.New("no address was printed"), err)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v: %s", err, ran.LogTail(5))
	}
	return p
}

// grace is how long the plugin may take to end.
const grace = 5 * time.Second
