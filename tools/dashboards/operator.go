package main

// ofOperator keeps the series of the operator's own processes: other controllers have the same names.
const ofOperator = ` and on (instance) rankwright_ledger_conflicts_total`

var operator = board{
	name: "operator", title: "Operator",
	about: "What the operator decides, how long that takes, what it asks of the API server, and what becomes of pods and devices.",
	rows: []row{
		{"Now", []panel{
			{kind: number, title: "Replicas that are scraped", queries: []query{{expr: `count(rankwright_ledger_conflicts_total)`}}},
			{
				kind: number, title: "Leaders", about: "More than one for a short while after a Lease was lost keeps nobody from anything but waiting.",
				queries: []query{{expr: `sum(leader_election_master_status{name="rankwright-operator"})`}},
			},
			{kind: number, title: "Placements", queries: []query{{expr: `sum(max by (placed, ready, reason) (rankwright_placements))`}}},
			{
				kind: number, title: "Not as estimated", about: "Placements whose pods are faster or slower than the range of their estimate.",
				queries: []query{{expr: `max(rankwright_placements_as_estimated{status="False"})`}},
			},
			{
				kind: number, title: "Devices in repair",
				queries: []query{{expr: `sum(max by (state) (rankwright_devices_in_repair{state!="Returned"}))`}},
			},
			{
				kind: number, title: "Meshes with a fault", about: "Of those that are verified.",
				queries: []query{{expr: `sum(max by (namespace, mesh) (rankwright_mesh_verification_outcome) == bool 0)`}},
			},
		}},
		{"Decisions", []panel{
			{
				kind: lines, title: "Placements by state",
				queries: []query{{`sum by (placed, ready, reason) (max by (placed, ready, reason) (rankwright_placements))`, "placed {{placed}}, ready {{ready}}, {{reason}}"}},
			},
			{
				kind: lines, title: "Wait for a plan", about: "From when a plan is seen to be needed until one is decided.", unit: "s",
				queries: []query{
					{`histogram_quantile(0.5, sum by (le) (rate(rankwright_placement_wait_seconds_bucket[1h])))`, "half"},
					{`histogram_quantile(0.99, sum by (le) (rate(rankwright_placement_wait_seconds_bucket[1h])))`, "99 of 100"},
				},
			},
			{
				kind: lines, title: "Steps, 99 of 100 within", about: "plan is an answer of the planner, bind one pod. docs/operations.md has all.", unit: "s",
				queries: []query{{`histogram_quantile(0.99, sum by (le, step) (rate(rankwright_placement_step_duration_seconds_bucket[1h])))`, "{{step}}"}},
			},
			{
				kind: lines, title: "Refusals in an hour, by reason", about: "Answers of the planner that there is no plan: each placement that waits is asked about again. docs/why-not.md has the reasons.",
				queries: []query{{`sum by (reason) (increase(rankwright_refusals_total[1h]))`, "{{reason}}"}},
			},
			{
				kind: lines, title: "Evictions in an hour", about: "Of pods whose plan was replaced; blocked by disruption budgets.",
				queries: []query{{`sum by (result) (increase(rankwright_evictions_total[1h]))`, "{{result}}"}},
			},
			{
				kind: lines, title: "Reservations that were begun again, in an hour",
				queries: []query{{`sum(increase(rankwright_ledger_conflicts_total[1h]))`, "conflicts"}},
			},
			{
				kind: lines, title: "Devices in repair, by state",
				queries: []query{{`max by (state) (rankwright_devices_in_repair)`, "{{state}}"}},
			},
			{
				kind: lines, title: "Repairs that ended, in an hour",
				queries: []query{{`sum by (state) (increase(rankwright_repairs_ended_total[1h]))`, "{{state}}"}},
			},
			{
				kind: lines, title: "Bandwidth that pods measured, as a part of what is planned", about: "Of the slowest group of each kind.", unit: "percentunit", width: 24,
				queries: []query{{`max by (namespace, mesh, group) (rankwright_mesh_verification_bandwidth_bytes_per_second) / max by (namespace, mesh, group) (rankwright_mesh_verification_planned_bandwidth_bytes_per_second)`, "{{namespace}}/{{mesh}} {{group}}"}},
			},
		}},
		{"Load", []panel{
			{
				kind: lines, title: "Requests to the API server", unit: "reqps",
				queries: []query{{`sum by (verb) (rate(rankwright_api_requests_total[$__rate_interval]))`, "{{verb}}"}},
			},
			{
				kind: lines, title: "The ten resources that are asked for most", unit: "reqps",
				queries: []query{{`topk(10, sum by (resource) (rate(rankwright_api_requests_total[$__rate_interval])))`, "{{resource}}"}},
			},
			{
				kind: lines, title: "Requests for each mesh that was written",
				queries: []query{{`sum(rate(rankwright_api_requests_total[1h])) / sum(rate(rankwright_placement_step_duration_seconds_count{step="mesh"}[1h]))`, "requests"}},
			},
			{
				kind: lines, title: "Reconciles", unit: "ops",
				queries: []query{{`sum by (controller) (rate(controller_runtime_reconcile_total[$__rate_interval])` + ofOperator + `)`, "{{controller}}"}},
			},
			{
				kind: lines, title: "Reconciles that failed", unit: "ops",
				queries: []query{{`sum by (controller) (rate(controller_runtime_reconcile_errors_total[$__rate_interval])` + ofOperator + `)`, "{{controller}}"}},
			},
			{
				kind: lines, title: "Waiting in the queues",
				queries: []query{{`sum by (controller) (workqueue_depth` + ofOperator + `)`, "{{controller}}"}},
			},
			{
				kind: lines, title: "Answers of the webhook, 99 of 100 within", unit: "s",
				queries: []query{{`histogram_quantile(0.99, sum by (le) (rate(controller_runtime_webhook_latency_seconds_bucket[1h])` + ofOperator + `))`, "webhook"}},
			},
			{
				kind: lines, title: "Processor time", unit: "percentunit",
				queries: []query{{`rate(process_cpu_seconds_total[$__rate_interval])` + ofOperator, "{{instance}}"}},
			},
			{
				kind: lines, title: "Memory", unit: "bytes",
				queries: []query{{`process_resident_memory_bytes` + ofOperator, "{{instance}}"}},
			},
		}},
	},
}
