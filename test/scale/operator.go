package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

// Operator is a child process in which an operator runs whose requests are counted.
type Operator struct {
	*process.Process
	dir             string
	health, figures string
}

// OperatorOptions say how an operator runs.
type OperatorOptions struct {
	// WebhookHost is the address at which the API server reaches this machine; empty serves no webhook.
	WebhookHost string
	WebhookPort int
	// Profiles is a folder that profiles of the processor are written to; empty writes none. Phase names the first one.
	Profiles, Phase string
	// Memory is what the operator's container may take, as its limit says; empty sets no limit.
	Memory string
}

// settings are what a child is told.
type settings struct {
	OperatorOptions
	Kubeconfig, Health, Figures string
}

// startPatience is how long an operator may take until it knows all that it reads.
const startPatience = 10 * time.Minute

// StartOperator runs an operator, with the rights of an installed one, by starting this program anew: its main function has to begin with
// Child. It returns when the process runs; AwaitReady waits until the operator knows all that it reads.
func (c *Cluster) StartOperator(ctx context.Context, options OperatorOptions) (*Operator, error) {
	config, err := c.OperatorConfig(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rankwright-operator-")
	if err != nil {
		return nil, fmt.Errorf("folder of the operator: %w", err)
	}
	told := settings{
		OperatorOptions: options, Kubeconfig: filepath.Join(dir, "kubeconfig"),
		Health: fmt.Sprintf("127.0.0.1:%d", ports[0]), Figures: fmt.Sprintf("127.0.0.1:%d", ports[1]),
	}
	text, err := json.Marshal(told)
	if err == nil {
		err = controlplane.WriteKubeconfig(told.Kubeconfig, config)
	}
	self, where := os.Executable()
	if err := errors.Join(err, where); err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	child, err := process.Start(process.Spec{
		Name: "operator", Path: self, Env: append(os.Environ(), childEnv+"="+string(text)), LogFile: filepath.Join(dir, "log"),
	})
	if err != nil {
		return nil, err
	}
	return &Operator{Process: child, dir: dir, health: "http://" + told.Health, figures: "http://" + told.Figures}, nil
}

// AwaitReady waits until the operator knows all that it reads.
func (o *Operator) AwaitReady(ctx context.Context) error {
	return o.Await(ctx, startPatience, func(ctx context.Context) error {
		return get(ctx, o.health+"/readyz", nil)
	})
}

// Figures are what the operator has used and asked for since it began.
func (o *Operator) Figures(ctx context.Context) (Figures, error) {
	var figures Figures
	err := get(ctx, o.figures, &figures)
	return figures, err
}

// next has the operator begin the profile of a phase.
func (o *Operator) next(ctx context.Context, phase string) error {
	return ask(ctx, http.MethodPost, o.figures+"/phase?name="+phase, nil)
}

func get(ctx context.Context, address string, into any) error {
	return ask(ctx, http.MethodGet, address, into)
}

func ask(ctx context.Context, method, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("operator: %s answers %s", address, answer.Status)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	return nil
}

// End asks the operator to end, kills it after a while, and removes its folder.
func (o *Operator) End() {
	const patience = 30 * time.Second
	o.Stop(patience)
	_ = os.RemoveAll(o.dir)
}

// Kill ends the operator as a crash does.
func (o *Operator) Kill() { o.Stop(0) }
