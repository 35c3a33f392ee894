package placement

import "github.com/prometheus/client_golang/prometheus"

// Metrics are what the operator counts beside what controller-runtime does.
type Metrics struct {
	// Conflicts counts the reservations that another writer was faster with.
	Conflicts prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		Conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rankwright_ledger_conflicts_total",
			Help: "Reservations that were begun again because another writer changed the ledger or the plan.",
		}),
	}
	return m, registry.Register(m.Conflicts)
}
