package figures

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var (
	placementDesc = desc("placement_info", "Always 1; the labels say what a placement is, and which plan is in force (empty: none).",
		"namespace", "placement", "model", "plan", "strategy")
	conditionDesc = desc("placement_condition_since_timestamp_seconds", "Unix time since when a condition of a placement has the status that the labels say; the reason may have changed since.",
		"namespace", "placement", "condition", "status", "reason")
	copiesDesc = desc("placement_copies", "Copies of a placement: planned, present (of which the first pod is bound and has not ended), ready (of which all pods run as planned).",
		"namespace", "placement", "state")
	rateDesc = desc("placement_tokens_per_second", "Generated tokens per second over all copies, in training tokens trained on: planned (estimated for the load of the spec), expected (estimated for the load that pods have), observed.",
		"namespace", "placement", "value")
	tokenDesc = desc("placement_time_per_token_seconds", "Time for each further token of a request: planned (estimated for the load of the spec), expected (estimated for the load that pods have), observed.",
		"namespace", "placement", "value")
)

// tellPlacement tells what the status of one placement says.
func tellPlacement(p *v1alpha1.ModelPlacement, to chan<- prometheus.Metric) {
	s := &p.Status
	gauge(to, placementDesc, 1, p.Namespace, p.Name, s.Model, s.Plan, s.Strategy)
	for i := range s.Conditions {
		c := &s.Conditions[i]
		gauge(to, conditionDesc, float64(c.LastTransitionTime.Unix()), p.Namespace, p.Name, c.Type, string(c.Status), c.Reason)
	}
	for state, n := range map[string]int32{"planned": s.PlannedReplicas, "present": s.Replicas, "ready": s.ReadyReplicas} {
		gauge(to, copiesDesc, float64(n), p.Namespace, p.Name, state)
	}
	tell := func(value string, perSecond, micros int64) {
		if perSecond > 0 {
			gauge(to, rateDesc, float64(perSecond), p.Namespace, p.Name, value)
		}
		if micros > 0 {
			gauge(to, tokenDesc, float64(micros)*1e-6, p.Namespace, p.Name, value)
		}
	}
	estimated := func(value string, e *v1alpha1.Estimate) {
		if e != nil {
			tell(value, e.TokensPerSecond.Value, e.TPOTMicros.Value)
		}
	}
	estimated("planned", s.Estimate)
	if s.Observed != nil {
		estimated("expected", s.Observed.Estimate)
		tell("observed", s.Observed.TokensPerSecond, s.Observed.TPOTMicros)
	}
}
