package controlplane

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/rankwright/rankwright/test/process"
)

// Components that can be halted and resumed.
const (
	etcd      = "etcd"
	apiserver = "kube-apiserver"
)

// component is the place of a component among the processes; one that was not started is an error of the test.
func (c *ControlPlane) component(name string) int {
	return slices.IndexFunc(c.processes, func(p *process.Process) bool { return p.Name() == name })
}

// HaltEtcd kills etcd, without a word of warning, and ResumeEtcd starts it again at its address, with what it had.
func (c *ControlPlane) HaltEtcd() { c.halt(etcd) }

// HaltAPIServer kills the API server, and ResumeAPIServer starts it again at its address.
func (c *ControlPlane) HaltAPIServer() { c.halt(apiserver) }

// ResumeEtcd returns when etcd is ready again.
func (c *ControlPlane) ResumeEtcd(ctx context.Context) error {
	if err := c.resume(etcd); err != nil {
		return err
	}
	return c.awaitEtcd(ctx)
}

// ResumeAPIServer returns when the API server is ready again, for which it needs etcd.
func (c *ControlPlane) ResumeAPIServer(ctx context.Context) error {
	if err := c.resume(apiserver); err != nil {
		return err
	}
	return c.awaitAPIServer(ctx)
}

func (c *ControlPlane) halt(name string) {
	p := c.processes[c.component(name)]
	p.Signal(syscall.SIGKILL)
	<-p.Done()
	c.logf("%s: killed", name)
}

func (c *ControlPlane) resume(name string) error {
	at := c.component(name)
	p, err := c.processes[at].Again()
	if err != nil {
		return err
	}
	c.processes[at] = p
	c.logf("%s: started again, process %d", name, p.PID())
	return nil
}

// SaveEtcd copies the data of etcd, which is halted, to a folder that is not there yet.
func (c *ControlPlane) SaveEtcd(folder string) error {
	if err := os.CopyFS(folder, os.DirFS(c.path(etcd))); err != nil {
		return fmt.Errorf("backup of etcd: %w", err)
	}
	return nil
}

// RestoreEtcd gives etcd, which is halted, the data of a folder in place of its own. Its revisions go on from there, so that some come a second time.
func (c *ControlPlane) RestoreEtcd(folder string) error {
	if err := os.RemoveAll(c.path(etcd)); err != nil {
		return fmt.Errorf("data of etcd: %w", err)
	}
	if err := os.CopyFS(c.path(etcd), os.DirFS(folder)); err != nil {
		return fmt.Errorf("restore etcd: %w", err)
	}
	return nil
}
