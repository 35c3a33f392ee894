package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// seat is a place for one operator, with a way to the API server and a port for its webhook of its own.
type seat struct {
	name       string
	binary     string
	kubeconfig string
	log        string
	webhook    int
	proxy      *proxy
	running    *process.Process
	doomed     bool // whoever runs may end by itself, since its Lease was taken
}

// stopGrace is how long an operator that is asked to end may take.
const stopGrace = 20 * time.Second

func newSeat(dir, binary, name string, rights *rest.Config, seed uint64) (*seat, error) {
	p, err := newProxy(rights, seed)
	if err != nil {
		return nil, err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return nil, err
	}
	s := &seat{name: name, binary: binary, kubeconfig: filepath.Join(dir, name+".kubeconfig"), log: filepath.Join(dir, name+".log"), webhook: ports[0], proxy: p}
	return s, controlplane.WriteKubeconfig(s.kubeconfig, &rest.Config{Host: p.address})
}

// start starts an operator. Without election it leads at once, whoever else does.
func (s *seat) start(election bool) error {
	p, err := process.Start(process.Spec{
		Name: s.name, Path: s.binary, LogFile: s.log, Continue: true,
		Args: []string{
			"--kubeconfig=" + s.kubeconfig, "--leader-elect=" + strconv.FormatBool(election), "--health-address=0", "--metrics-address=0",
			"--webhook-address=127.0.0.1:" + strconv.Itoa(s.webhook), "--log-level=info",
		},
	})
	if err != nil {
		return err
	}
	s.running, s.doomed = p, false
	return nil
}

// kill ends the operator without a word of warning. It says how it ended where it had ended by itself.
func (s *seat) kill() error { return s.end(func() { s.running.Signal(syscall.SIGKILL) }) }

// stop asks the operator to end.
func (s *seat) stop() error { return s.end(func() { s.running.Stop(stopGrace) }) }

func (s *seat) end(how func()) error {
	if s.running == nil {
		return nil
	}
	exit := s.running.Exit()
	how()
	<-s.running.Done()
	s.running = nil
	if exit != nil && !s.doomed {
		return fmt.Errorf("the operator ended by itself: %w", exit)
	}
	return nil
}

// awaitEnd waits until an operator that lost its Lease has ended.
func (s *seat) awaitEnd(ctx context.Context) error {
	select {
	case <-s.running.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s did not end: %w", s.name, ctx.Err())
	}
}
