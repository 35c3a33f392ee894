package measure

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Table is a gauge whose series come and go together: a scrape sees those of before or those of now, never some of both.
type Table struct {
	desc *prometheus.Desc
	rows atomic.Pointer[[]prometheus.Metric]
}

// Row is one series of a table: the values of its labels, in their order. No two rows of a table have the same.
type Row struct {
	Value  float64
	Labels []string
}

// Table makes a gauge that has no series until its rows are set.
func (m Maker) Table(name, help string, labels ...string) *Table {
	t := &Table{desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)}
	if m.registry != nil {
		m.registry.MustRegister(t)
	}
	return t
}

// Set puts rows in the place of all that were there.
func (t *Table) Set(rows []Row) {
	made := make([]prometheus.Metric, len(rows))
	for i, row := range rows {
		made[i] = prometheus.MustNewConstMetric(t.desc, prometheus.GaugeValue, row.Value, row.Labels...)
	}
	t.rows.Store(&made)
}

// Describe implements prometheus.Collector.
func (t *Table) Describe(to chan<- *prometheus.Desc) { to <- t.desc }

// Collect implements prometheus.Collector.
func (t *Table) Collect(to chan<- prometheus.Metric) {
	if rows := t.rows.Load(); rows != nil {
		for _, metric := range *rows {
			to <- metric
		}
	}
}
