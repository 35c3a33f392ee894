package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rankwright/rankwright/test/controlplane"
)

// chooseMetrics chooses where the operator and each node's agent serve their metrics: ports of the loopback that are free now.
func (d *demo) chooseMetrics(context.Context) error {
	ports, err := controlplane.FreePorts(1 + len(d.nodes))
	for _, port := range ports {
		d.metrics = append(d.metrics, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return err
}

// configurePrometheus writes what a Prometheus on this machine needs: whom to ask, as whom, and the rules of the chart.
func (d *demo) configurePrometheus(ctx context.Context) error {
	token, err := d.cluster.MetricsReader(ctx)
	if err != nil {
		return err
	}
	credentials := filepath.Join(d.dir, "prometheus.token")
	if err := os.WriteFile(credentials, []byte(token), 0o600); err != nil {
		return fmt.Errorf("token of Prometheus: %w", err)
	}
	text := fmt.Sprintf(`global: {scrape_interval: 15s, evaluation_interval: 15s}
rule_files: [%[1]s/recording.yaml, %[1]s/alerts.yaml]
scrape_configs:
- job_name: rankwright
  scheme: https
  tls_config: {insecure_skip_verify: true} # the programs sign their certificates themselves
  authorization: {credentials_file: %[2]s}
  honor_labels: true
  static_configs:
  - targets: [%[3]s]
`, filepath.Join(d.root, "charts", "rankwright"), credentials, "'"+strings.Join(d.metrics, "', '")+"'")
	if err := os.WriteFile(d.prometheusConfig(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("configuration of Prometheus: %w", err)
	}
	return nil
}

func (d *demo) prometheusConfig() string { return filepath.Join(d.dir, "prometheus.yml") }
