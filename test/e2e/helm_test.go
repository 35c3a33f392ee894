//go:build linux

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	release           = "rankwright"
	agentNamespace    = "rankwright-node-agent"
	operatorNamespace = "rankwright-operator"
	chart             = "../../charts/rankwright"
	agentLabels       = "app.kubernetes.io/name=rankwright,app.kubernetes.io/component=node-agent"
)

// helm runs the tool and returns what it prints.
func (s *site) helm(ctx context.Context, args ...string) (string, error) {
	assets, err := controlplane.FindAssets()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, filepath.Join(assets, "helm"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(), "HELM_CACHE_HOME="+filepath.Join(s.dir, "helm"),
		"HELM_CONFIG_HOME="+filepath.Join(s.dir, "helm"), "HELM_DATA_HOME="+filepath.Join(s.dir, "helm"))
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	return output.String(), err
}

// mustHelm fails the test where the tool fails.
func (s *site) mustHelm(t *testing.T, args ...string) string {
	t.Helper()
	step("helm %s", strings.Join(args, " "))
	output, err := s.helm(t.Context(), args...)
	if err != nil {
		s.explain(t)
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// install installs the chart, with the values of values.yaml and these on top, until everything is ready, and uninstalls
// it at the end of the test.
func (s *site) install(t *testing.T, set ...string) {
	t.Helper()
	began := time.Now()
	s.mustHelm(t, s.upgradeArgs([]string{"install", "--create-namespace"}, set...)...)
	step("ready after %.1f s", time.Since(began).Seconds())
	t.Cleanup(func() { s.uninstall(t) })
}

func (s *site) upgradeArgs(verb []string, set ...string) []string {
	from, values := []string{chart}, set
	if s.other != nil {
		from, values = s.other.chart, append(slices.Clone(s.other.set), set...)
	}
	args := append(slices.Clone(verb), release)
	args = append(append(args, from...), "--namespace", agentNamespace, "--values", "values.yaml", "--wait", "--timeout", "3m")
	for _, value := range values {
		flag := "--set"
		if strings.Contains(value, `={"`) {
			flag = "--set-json" // which takes the place of all that was below the name
		}
		args = append(args, flag, value)
	}
	return args
}

// uninstall removes the release, if it exists, and what uninstalling leaves for its users to remove.
func (s *site) uninstall(t *testing.T) {
	t.Helper()
	if t.Failed() {
		s.explain(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if output, err := s.helm(ctx, "uninstall", release, "--namespace", agentNamespace, "--ignore-not-found", "--wait"); err != nil {
		t.Errorf("helm uninstall: %v\n%s", err, output)
	}
}
