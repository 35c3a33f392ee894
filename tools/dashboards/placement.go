package main

var placement = board{
	name: "placement", title: "Placement",
	about: "One placement: what was decided, which pod has which rank, what it delivers beside what was estimated.",
	variables: []variable{
		{name: "namespace", metric: "rankwright_placement_info", label: "namespace", one: true},
		{name: "placement", metric: `rankwright_placement_info{namespace="$namespace"}`, label: "placement", one: true},
	},
	rows: []row{
		{"Now", []panel{
			{
				kind: list, title: "What was decided",
				queries: []query{{expr: `max by (model, plan, strategy) (rankwright_placement_info{namespace="$namespace", placement="$placement"})`}}, width: 12,
			},
			{
				kind: list, title: "How it stands", about: "Each condition with the time since its status last changed. docs/use/status.md has the table of reasons.", width: 12, unit: "s", value: "for",
				queries: []query{{expr: `time() - max by (condition, status, reason) (rankwright_placement_condition_since_timestamp_seconds{namespace="$namespace", placement="$placement"})`}},
			},
			{
				kind: lines, title: "Copies",
				queries: []query{{`max by (state) (rankwright_placement_copies{namespace="$namespace", placement="$placement"})`, "{{state}}"}},
			},
			{
				kind: number, title: "Its devices cost an hour", about: "At the cheapest list price of their product.", unit: "currencyUSD", width: 12,
				queries: []query{{expr: `sum(device:rankwright_price:dollars_per_hour * on (node, device) group_left () device:rankwright_rank:info{namespace="$namespace", placement="$placement"})`}},
			},
		}},
		{"Ranks", []panel{
			{
				kind: list, title: "Which pod has which rank", about: "A row without a pod: the device is planned, and the kubelet says of no pod that it has it.",
				queries: []query{{expr: `max by (replica, rank, role, node, device, pod, container) (device:rankwright_holder:info{namespace="$namespace", placement="$placement"})`}},
			},
			{
				kind: list, title: "Strangers on its devices", about: "Pods of other namespaces that hold a device of the plan.",
				queries: []query{{expr: `max by (node, device, namespace, pod, container) (rankwright_device_pod_info) and on (node, device) device:rankwright_rank:info{namespace="$namespace", placement="$placement"} unless on (node, device, namespace) device:rankwright_rank:info`}},
			},
			{
				kind: list, title: "Devices that are not healthy",
				queries: []query{{expr: `max by (node, device, state) (rankwright_device_health{state!="Healthy"}) == 1 and on (node, device) device:rankwright_rank:info{namespace="$namespace", placement="$placement"}`}},
			},
		}},
		{"Readings by rank", []panel{
			{
				kind: lines, title: "Utilization", unit: "percentunit",
				queries: []query{{`device:rankwright_utilization:ratio * on (node, device) group_left (replica, rank, role) device:rankwright_rank:info{namespace="$namespace", placement="$placement"}`, "copy {{replica}} rank {{rank}} {{role}}"}},
			},
			{
				kind: lines, title: "Memory in use", unit: "bytes",
				queries: []query{{`device:rankwright_memory_used:bytes * on (node, device) group_left (replica, rank, role) device:rankwright_rank:info{namespace="$namespace", placement="$placement"}`, "copy {{replica}} rank {{rank}} {{role}}"}},
			},
			{
				kind: lines, title: "Temperature", unit: "celsius",
				queries: []query{{`device:rankwright_temperature:celsius * on (node, device) group_left (replica, rank, role) device:rankwright_rank:info{namespace="$namespace", placement="$placement"}`, "copy {{replica}} rank {{rank}} {{role}}"}},
			},
			{
				kind: lines, title: "Power", unit: "watt",
				queries: []query{{`device:rankwright_power:watts * on (node, device) group_left (replica, rank, role) device:rankwright_rank:info{namespace="$namespace", placement="$placement"}`, "copy {{replica}} rank {{rank}} {{role}}"}},
			},
		}},
		{"What it delivers", []panel{
			{
				kind: lines, title: "Tokens per second", about: "planned: estimated for the load of the spec. expected: estimated for the load that the pods have. observed: by their engines' metrics (operator.engineMetrics).",
				queries: []query{{`max by (value) (rankwright_placement_tokens_per_second{namespace="$namespace", placement="$placement"})`, "{{value}}"}},
			},
			{
				kind: lines, title: "Time per token", unit: "s",
				queries: []query{{`max by (value) (rankwright_placement_time_per_token_seconds{namespace="$namespace", placement="$placement"})`, "{{value}}"}},
			},
			{
				kind: number, title: "Time per token, as a part of what is expected", about: "Above 1 the pods are slower than is estimated for their load.", unit: "percentunit", width: 24,
				queries: []query{{expr: `max(rankwright_placement_time_per_token_seconds{namespace="$namespace", placement="$placement", value="observed"}) / max(rankwright_placement_time_per_token_seconds{namespace="$namespace", placement="$placement", value="expected"})`}},
			},
		}},
		{"Its links", []panel{
			{
				kind: number, title: "Verified", about: "1 where the pods verified all groups, 0 where something is wrong, -1 while it is not known. docs/use/verification.md says more.",
				queries: []query{{expr: `max(rankwright_mesh_verification_outcome{namespace="$namespace", mesh="$placement"})`}},
			},
			{
				kind: lines, title: "Bandwidth of the slowest group", unit: "Bps", width: 10,
				queries: []query{
					{`max by (group) (rankwright_mesh_verification_bandwidth_bytes_per_second{namespace="$namespace", mesh="$placement"})`, "{{group}} measured"},
				},
			},
			{
				kind: lines, title: "Latency of the slowest group", unit: "s", width: 10,
				queries: []query{{`max by (group) (rankwright_mesh_verification_latency_seconds{namespace="$namespace", mesh="$placement"})`, "{{group}}"}},
			},
			{
				kind: list, title: "What the pods found", value: "findings",
				queries: []query{{expr: `max by (reason) (rankwright_mesh_verification_findings{namespace="$namespace", mesh="$placement"})`}},
			},
		}},
	},
}
