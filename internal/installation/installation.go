// Package installation tells whether the installation of Rankwright in a cluster works.
package installation

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names of what is installed, which are the same in every cluster.
const (
	agentName    = "rankwright-node-agent"
	operatorName = "rankwright-operator"
)

// Installation is what is looked at.
type Installation struct {
	// Reader reads from the API server.
	Reader client.Reader
	// Namespace is the operator's namespace, AgentNamespace the node agents'.
	Namespace, AgentNamespace string
	// Now tells the time, against which heartbeats are judged.
	Now func() time.Time
}

// Finding is the answer of one check.
type Finding struct {
	// Check is what was looked at.
	Check string
	// Good says what was found where all is well.
	Good string
	// Problem says what is wrong and what to do; nil where all is well.
	Problem error
}

// check looks at one thing, and says what it found or what is wrong.
type check struct {
	name string
	look func(Installation, context.Context) (string, error)
}

// checks are in the order in which one thing needs the other.
var checks = []check{
	{"kinds", Installation.kinds},
	{"operator", Installation.operator},
	{"leader", Installation.leader},
	{"agents", Installation.agents},
	{"inventories", Installation.inventories},
	{"heartbeats", Installation.heartbeats},
}

// Look makes all checks.
func (i Installation) Look(ctx context.Context) []Finding {
	findings := make([]Finding, 0, len(checks))
	for _, c := range checks {
		good, err := c.look(i, ctx)
		findings = append(findings, Finding{Check: c.name, Good: good, Problem: err})
	}
	return findings
}

// Problem returns the first problem of the findings.
func Problem(findings []Finding) error {
	for _, f := range findings {
		if f.Problem != nil {
			return fmt.Errorf("%s: %w", f.Check, f.Problem)
		}
	}
	return nil
}
