package nodeagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent"
)

// Whole hosts, with every field that a backend fills: the API server accepts them, and gives back what the agent
// recognises as its own.
func TestRecordedHostsSettle(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := filepath.Glob(filepath.Join(root, "test", "recordings", "*.tar.gz"))
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for i, recording := range recordings {
		t.Run(filepath.Base(recording), func(t *testing.T) {
			s := newSiteFor(t, fmt.Sprintf("recorded-%d", i))
			config := agentConfig(t, s.node)
			config.Wrap(s.writes.count)
			agent, err := nodeagent.New(config, nodeagent.Options{
				NodeName: s.name, Version: "test", Log: s.log(),
				Host: func() (*host.Host, error) { return readHost(recording) },
			})
			if err != nil {
				t.Fatal(err)
			}
			s.agent = agent
			s.once()
			if got := s.inventory().Status.Summary.Devices; got == 0 {
				t.Fatal("no devices were published")
			}
			writes := s.writes.n.Load()
			s.once()
			if got := s.writes.n.Load() - writes; got != 0 {
				t.Errorf("the second scan writes %d times, want none", got)
			}
		})
	}
}

func readHost(name string) (*host.Host, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	recording, err := host.ReadRecording(file)
	if err != nil {
		return nil, err
	}
	return recording.Host(), nil
}
