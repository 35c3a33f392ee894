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
	if changes := args[0] == "upgrade" || args[0] == "rollback"; changes {
		s.installed = nil
	}
	output, err := s.helm(t.Context(), args...)
	if err != nil {
		s.explain(t)
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// install installs the chart, with the values of values.yaml and these on top, until everything is ready, unless the test before left just that. It is
// left to the next test, but by a test that fails.
func (s *site) install(t *testing.T, set ...string) {
	t.Helper()
	s.act(t)
	t.Cleanup(func() {
		if t.Failed() {
			s.explain(t)
			s.uninstall(t)
		}
	})
	args := s.upgradeArgs([]string{"install", "--create-namespace"}, set...)
	if slices.Equal(args, s.installed) {
		step("installed as the test before left it")
		return
	}
	s.uninstall(t)
	began := time.Now()
	s.mustHelm(t, args...)
	s.installed = args
	step("ready after %.1f s", time.Since(began).Seconds())
}

// bare is a cluster without a release, whose nodes play their own hosts.
func (s *site) bare(t *testing.T) {
	t.Helper()
	s.act(t)
	s.uninstall(t)
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

// uninstall removes the release, if it exists.
func (s *site) uninstall(t *testing.T) {
	t.Helper()
	s.installed = nil
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if output, err := s.helm(ctx, "uninstall", release, "--namespace", agentNamespace, "--ignore-not-found", "--wait"); err != nil {
		t.Errorf("helm uninstall: %v\n%s", err, output)
	}
}
